import { createHash } from 'node:crypto';
import { isList, type Outline, stretchesOf, withoutLists } from '../../platform/json/json-outline.js';
import { bodyText, malformed, parseExactJson, bodyTextOf, type JsonMembers } from '../model/json.js';

/** The long lists of a document. */
export const LISTS = ['components', 'dependencies'] as const;
export type ListName = (typeof LISTS)[number];
/** To be raised when the same document is read differently by a new version of the service. */
const READING = 5;

/** Consecutive items of a list. */
export interface Stretch {
  /** Of its first item in the list. */
  readonly index: number;
  readonly items: readonly unknown[];
}

/** A CycloneDX document as bytes. Its lists are parsed some items at a time, so that the whole is never in memory as objects. */
export class BomText {
  /** @param outline undefined when the lists can only be found by parsing the whole. */
  constructor(
    private readonly bytes: Buffer,
    private readonly outline: Outline | undefined,
  ) {}

  whole(): JsonMembers {
    return parseExactJson(bodyText(this.bytes)) as JsonMembers;
  }

  /** The document with empty lists. A member that is no list stays, for the schema to refuse. */
  head(): JsonMembers {
    if (this.outline !== undefined)
      return parseExactJson(bodyTextOf(withoutLists(this.bytes, this.outline, LISTS))) as JsonMembers;
    const document = this.whole();
    for (const name of LISTS) if (Array.isArray(document[name])) document[name] = [];
    return document;
  }

  /** Each call parses the list anew: the receiver may change the items. */
  *stretches(name: ListName): Generator<Stretch> {
    if (this.outline === undefined) {
      const list = this.whole()[name];
      if (Array.isArray(list)) yield { index: 0, items: list };
      return;
    }
    const list = this.outline.get(name);
    if (list === undefined || !isList(this.bytes, list)) return;
    let index = 0;
    for (const { start, end } of stretchesOf(this.bytes, list)) {
      const first = index;
      const text = `[${bodyTextOf(this.bytes.subarray(start, end))}]`;
      const items = parseExactJson(text, (item) => `/${name}/${first + Number(item)}`) as unknown[];
      if (items.length === 0 && list.cuts.length > 0) throw malformed(`/${name}`);
      yield { index, items };
      index += items.length;
    }
  }

  /**
   * Hash of the content: the lists as they stand, and the described component. Serial number, version, time and properties belong to one
   * edition of the document.
   */
  said({ specVersion, metadata }: { specVersion: string; metadata?: { component?: unknown } }): Buffer {
    const hash = createHash('sha256').update(JSON.stringify([READING, specVersion, metadata?.component ?? null]));
    if (this.outline === undefined) return hash.update(this.bytes).digest();
    for (const name of LISTS) {
      const { start, end } = this.outline.get(name) ?? { start: 0, end: 0 };
      hash.update(`\n${end - start} `).update(this.bytes.subarray(start, end));
    }
    return hash.digest();
  }
}
