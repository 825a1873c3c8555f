import { isMembers, type JsonMembers } from '../model/json.js';
import { Problem } from '../../platform/errors/problem.js';

/** @throws Problem 422 `document.invalid` with the pointer. */
export function refuse(pointer: string, detail: string): never {
  throw new Problem('refused', 'document.invalid', `The SARIF document cannot be read. ${pointer}: ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}

const NO_MEMBERS: JsonMembers = {};

/** The object, or one without members for anything that is none. */
export function membersOf(value: unknown): JsonMembers {
  return isMembers(value) ? value : NO_MEMBERS;
}

/** The objects of a list; a place that holds something else stays, so that indexes lead where they should. */
export function objectsOf(value: unknown): JsonMembers[] {
  return Array.isArray(value) ? (value as unknown[]).map(membersOf) : [];
}

/** The object at an index that another object gives (section 3.7.4); -1 and whatever is no index lead nowhere. */
export function atIndex(list: readonly JsonMembers[], index: unknown): JsonMembers | undefined {
  return typeof index === 'number' ? list[index] : undefined;
}

/** The texts of a list, or the text that stands in its place; some tools put one list into another. */
export function textsOf(value: unknown): string[] {
  const all = Array.isArray(value) ? (value as unknown[]).flat() : [value];
  return all.filter((one) => typeof one === 'string' || typeof one === 'number').map(String);
}

/** As tools write it, `guid` is in either case. */
export function isSameGuid(a: unknown, b: unknown): boolean {
  return typeof a === 'string' && typeof b === 'string' && a !== '' && a.toLowerCase() === b.toLowerCase();
}
