import { isMembers, type JsonMembers } from '../../model/json.js';
import { Problem } from '../../../platform/errors/problem.js';

/** refuse rejects the document. @throws Problem 422 `document.invalid` with the pointer. */
export function refuse(pointer: string, detail: string): never {
  throw new Problem('refused', 'document.invalid', `The SARIF document cannot be parsed. ${pointer}: ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}

const NO_MEMBERS: JsonMembers = {};

/** membersOf returns the value if it is an object, and otherwise an object without members. */
export function membersOf(value: unknown): JsonMembers {
  return isMembers(value) ? value : NO_MEMBERS;
}

/** objectsOf returns the items of a list as objects. An item that is not an object becomes an empty object, so that indexes remain correct. */
export function objectsOf(value: unknown): JsonMembers[] {
  return Array.isArray(value) ? (value as unknown[]).map(membersOf) : [];
}

/** atIndex returns the object at an array index property (section 3.7.4), or undefined for -1 and for invalid indexes. */
export function atIndex(list: readonly JsonMembers[], index: unknown): JsonMembers | undefined {
  return typeof index === 'number' ? list[index] : undefined;
}

/** textsOf returns the strings in a list, or a single string that is given instead of a list. Nested lists, which some tools write, are also accepted. */
export function textsOf(value: unknown): string[] {
  const all = Array.isArray(value) ? (value as unknown[]).flat() : [value];
  return all.filter((one) => typeof one === 'string' || typeof one === 'number').map(String);
}

/** isSameGuid compares `guid` values regardless of case, because tools write both uppercase and lowercase. */
export function isSameGuid(a: unknown, b: unknown): boolean {
  return typeof a === 'string' && typeof b === 'string' && a !== '' && a.toLowerCase() === b.toLowerCase();
}
