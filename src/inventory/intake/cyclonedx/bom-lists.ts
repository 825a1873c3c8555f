import { canonicalJson } from '../../../platform/json/canonical-json.js';
import type { DraftRefs } from '../../model/draft-refs.js';
import type { Remark } from '../../model/document.js';
import { addRemark } from '../../model/document-remarks.js';
import { itemCheck, type SpecVersion } from './bom-schemas.js';
import { type BomText, type ListName, LISTS, type RepeatedName } from './bom-text.js';
import { truncate } from '../../../platform/text/truncate.js';
import { type SchemaCheck, schemaNameOf } from './json-schema.js';
import { leaveOutParts } from './left-out-parts.js';
import { repairTexts } from './repaired-texts.js';
import { type Duplicate, SchemaFaults } from './schema-faults.js';

export type Mode = 'strict' | 'repair';

/** An item with the same name as an earlier item, which may be a duplicate. */
interface Doubtful {
  readonly item: unknown;
  readonly index: number;
}

/**
 * BomLists iterates over the lists of a document and validates each item against the schema. After the first fault, no more items are yielded; the remaining
 * items are only checked for faults.
 */
export class BomLists {
  private readonly checks: Readonly<Record<ListName, SchemaCheck>>;

  constructor(
    private readonly text: BomText,
    version: SpecVersion,
    private readonly mode: Mode,
    private readonly found: SchemaFaults,
    private readonly repairs: Remark[],
  ) {
    this.checks = { components: itemCheck(version, 'components'), dependencies: itemCheck(version, 'dependencies') };
  }

  /**
   * Yields valid items in order. Items with the name of an earlier item come last. Duplicates are omitted.
   *
   * @param refs receives the names of the items
   */
  *items<Item>(list: ListName, refs: DraftRefs): Generator<Item> {
    const { found } = this;
    const bit = 1 << LISTS.indexOf(list);
    const doubtful: Doubtful[] = [];
    for (const { index: first, items, repeated } of this.text.stretches(list)) {
      reportRepeatedNames(repeated, this.mode, found, this.repairs);
      for (let at = 0; at < items.length; at += 1) {
        const item = items[at];
        const index = first + at;
        if (!this.isGood(list, item, index)) continue;
        const ref = refs.of(schemaNameOf(item));
        const isKnown = (ref.lists & bit) !== 0;
        ref.lists |= bit;
        if (isKnown) doubtful.push({ item, index });
        else if (found.count === 0) yield item as Item;
      }
    }
    for (const item of this.distinct(list, doubtful)) if (found.count === 0) yield item as Item;
  }

  private isGood(list: ListName, item: unknown, index: number): boolean {
    const { found } = this;
    found.path.push(list, index);
    const good = this.judge(list, item, found, this.repairs);
    found.path.length = 0;
    return good;
  }

  /**
   * Checks an item. In repair mode, repairs faults in the item's strings, and removes invalid parts that are not read and duplicates in the item's lists.
   */
  private judge(list: ListName, item: unknown, found: SchemaFaults, repairs: Remark[]): boolean {
    const check = this.checks[list];
    const before = found.duplicates.length;
    const others = found.count - before;
    const faults = found.faults.length;
    if (check(item, found)) return true;
    if (this.mode === 'strict') return false;
    const own = found.faults.slice(faults);
    const depth = found.path.length;
    if (repairTexts(item, depth, own, repairs) || leaveOutParts(item, depth, own, repairs)) {
      found.faults.splice(faults);
      found.duplicates.splice(before);
      return this.judge(list, item, found, repairs);
    }
    if (found.duplicates.length === before) return false;
    removeRepeated(found.duplicates.splice(before), repairs);
    return found.count - before === others && check(item, found);
  }

  /** Yields the doubtful items that differ from all other items with the same name. */
  private *distinct(list: ListName, doubtful: readonly Doubtful[]): Generator {
    if (doubtful.length === 0) return;
    const shared = new Set(doubtful.map(({ item }) => schemaNameOf(item)));
    const indexes = new Set(doubtful.map(({ index }) => index));
    const seen = new Set<string>();
    for (const { index, items } of this.text.stretches(list))
      for (const [at, item] of items.entries())
        if (shared.has(schemaNameOf(item)) && !indexes.has(index + at)) {
          this.judge(list, item, new SchemaFaults(), []);
          seen.add(canonicalJson(item));
        }
    for (const { item, index } of doubtful) {
      const text = canonicalJson(item);
      if (!seen.has(text)) {
        seen.add(text);
        yield item;
      } else {
        const pointer = `/${list}/${index}`;
        if (this.mode === 'repair') addRepair(this.repairs, pointer);
        else this.found.duplicates.push({ list: [], index, pointer });
      }
    }
  }
}

function addRepair(repairs: Remark[], pointer: string): void {
  addRemark(repairs, { pointer, code: 'duplicate.removed', detail: 'the same item is already in the list' });
}

/**
 * reportRepeatedNames reports names that occur twice in an object. In strict mode, repeated names are faults. Repair mode keeps the last value, as JSON.parse
 * does, and adds a remark.
 */
export function reportRepeatedNames(
  repeated: readonly RepeatedName[],
  mode: Mode,
  found: SchemaFaults,
  repairs: Remark[],
): void {
  for (const { pointer, name } of repeated) {
    const detail = `the object has the member "${truncate(name, 64)}" twice`;
    if (mode === 'strict') found.addAt(pointer, detail);
    else addRemark(repairs, { pointer, code: 'name.repeated', detail: `${detail}; the last value is used` });
  }
}

/** removeRepeated removes duplicate items from their lists. */
export function removeRepeated(duplicates: readonly Duplicate[], repairs: Remark[]): void {
  const lists = new Map<unknown[], Set<number>>();
  for (const { list, index, pointer } of duplicates) {
    const indexes = lists.get(list) ?? new Set();
    lists.set(list, indexes.add(index));
    addRepair(repairs, pointer);
  }
  for (const [list, indexes] of lists) {
    const kept = list.filter((_, index) => !indexes.has(index));
    list.length = 0;
    for (const item of kept) list.push(item);
  }
}
