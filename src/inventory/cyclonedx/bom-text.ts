import { createHash } from 'node:crypto';
import { isList, type Outline, stretchesOf, withoutLists } from '../../platform/json/json-outline.js';
import { bodyText, malformed, parseJson, bodyTextOf } from '../model/json-body.js';
import type { JsonMembers } from '../model/json-values.js';

/** What makes a document long. */
export const LISTS = ['components', 'dependencies'] as const;
export type ListName = (typeof LISTS)[number];
/** To be raised when the same document comes to be read differently. */
const READING = 4;

/** Items of a list that stand side by side. */
export interface Stretch {
  /** Of the first, in the list. */
  readonly index: number;
  readonly items: readonly unknown[];
}

/** A CycloneDX document as it came. Its lists are read some items at a time, so that what is made of a document need never be there at once. */
export class BomText {
  /** @param outline undefined when only the whole tells where the lists are. */
  constructor(
    private readonly bytes: Buffer,
    private readonly outline: Outline | undefined,
  ) {}

  whole(): JsonMembers {
    return parseJson(bodyText(this.bytes)) as JsonMembers;
  }

  /** The document with lists that are empty. What is no list stays, for its schema to refuse. */
  head(): JsonMembers {
    if (this.outline !== undefined)
      return parseJson(bodyTextOf(withoutLists(this.bytes, this.outline, LISTS))) as JsonMembers;
    const document = this.whole();
    for (const name of LISTS) if (Array.isArray(document[name])) document[name] = [];
    return document;
  }

  /** Each call reads the list anew: what it yields may be changed. */
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
      const items = parseJson(text, (item) => `/${name}/${first + Number(item)}`) as unknown[];
      if (items.length === 0 && list.cuts.length > 0) throw malformed(`/${name}`);
      yield { index, items };
      index += items.length;
    }
  }

  /**
   * Hash of what the document says: its lists as they stand, and what it is about. Serial number, version, time and properties are
   * those of one edition.
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
