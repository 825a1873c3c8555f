import { createHash } from 'node:crypto';
import {
  isList,
  itemsOf,
  type Outline,
  type Span,
  stretchesOf,
  withoutLists,
} from '../../../platform/json/json-outline.js';
import { findAmbiguity } from '../../../platform/json/strict-json.js';
import { bodyText, malformed, parseExactJson, bodyTextOf, type JsonMembers } from '../../model/json.js';

/** The long lists of a document. */
export const LISTS = ['components', 'dependencies'] as const;
export type ListName = (typeof LISTS)[number];
/** READING is part of the content hash. Increase it when a new version of the service reads the same document differently. */
const READING = 5;

/** RepeatedName is a name that occurs twice in an object. JSON.parse keeps the last value; some other parsers keep the first value. */
export interface RepeatedName {
  readonly pointer: string;
  readonly name: string;
}

/** Stretch is a sequence of consecutive items in a list. */
export interface Stretch {
  /** Index of the first item in the list. */
  readonly index: number;
  readonly items: readonly unknown[];
  /** First repeated name of each item that contains a repeated name. */
  readonly repeated: readonly RepeatedName[];
}

/** BomText is an unparsed CycloneDX document. The lists are parsed a few items at a time, so that the parsed document is never completely in memory. */
export class BomText {
  /** @param outline positions of the lists; undefined if the lists can be found only by parsing the whole document. */
  constructor(
    private readonly bytes: Buffer,
    private readonly outline: Outline | undefined,
  ) {}

  whole(): JsonMembers {
    return parseExactJson(bodyText(this.bytes)) as JsonMembers;
  }

  /** Returns the document with empty lists. A member that is not a list is kept, so that the schema rejects it. */
  head(): JsonMembers {
    if (this.outline !== undefined)
      return parseExactJson(bodyTextOf(withoutLists(this.bytes, this.outline, LISTS))) as JsonMembers;
    const document = this.whole();
    for (const name of LISTS) if (Array.isArray(document[name])) document[name] = [];
    return document;
  }

  /** Yields the items of a list. Each call reparses the list, because the caller may change the items. */
  *stretches(name: ListName): Generator<Stretch> {
    if (this.outline === undefined) {
      const list = this.whole()[name];
      if (Array.isArray(list)) yield { index: 0, items: list, repeated: [] };
      return;
    }
    const list = this.outline.get(name);
    if (list === undefined || !isList(this.bytes, list)) return;
    let index = 0;
    for (const span of stretchesOf(this.bytes, list)) {
      const { start, end, members } = span;
      const first = index;
      const text = `[${bodyTextOf(this.bytes.subarray(start, end))}]`;
      const items = parseExactJson(text, (item) => `/${name}/${first + Number(item)}`) as unknown[];
      if (items.length === 0 && list.cuts.length > 0) throw malformed(`/${name}`);
      // The number of colons in the text equals the number of members in its objects, unless an object repeats a name.
      const repeated = members === membersIn(items) ? [] : this.repeatedNames(name, first, span);
      yield { index, items, repeated };
      index += items.length;
    }
  }

  /** Returns the first name that occurs twice in an object outside of the lists, or undefined if no name is repeated. */
  repeatedInHead(): RepeatedName | undefined {
    if (this.outline === undefined) return undefined;
    const head = bodyTextOf(withoutLists(this.bytes, this.outline, LISTS));
    return repeatedNameIn(head, '');
  }

  private repeatedNames(list: ListName, first: number, { start, end }: Span): RepeatedName[] {
    const text = Buffer.concat([OPEN, this.bytes.subarray(start, end), CLOSE]);
    return [...itemsOf(text, { start: 0, end: text.length })].flatMap((item, at) => {
      const own = bodyTextOf(text.subarray(item.start, item.end));
      return repeatedNameIn(own, `/${list}/${first + at}`) ?? [];
    });
  }

  /**
   * Returns a hash of the content: the lists as sent, and the described component. The serial number, version, timestamp and properties are excluded, because
   * these members differ in each edition of the document.
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

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

function repeatedNameIn(text: string, pointer: string): RepeatedName | undefined {
  const found = findAmbiguity(text, { roundsNumbers: true });
  return found?.name === undefined ? undefined : { pointer: `${pointer}${found.pointer}`, name: found.name };
}

/** Returns the number of members of all objects in a parsed JSON value. */
function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) if (typeof item === 'object') count += membersIn(item);
    return count;
  }
  const members = value as JsonMembers;
  for (const name in members) {
    count += 1;
    const member = members[name];
    if (typeof member === 'object') count += membersIn(member);
  }
  return count;
}
