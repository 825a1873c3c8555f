import type { Fault } from '../../../platform/errors/problem.js';
import { truncate } from '../../../platform/text/truncate.js';
import { isMembers } from '../../model/json.js';

/** RepairedValue is the replacement for a value that is invalid under the schema, with the remark about the repair. */
export interface RepairedValue {
  readonly value: unknown;
  readonly code: string;
  readonly detail: string;
}

const LISTED = 'must be one of ';
/** Schema word for values that are not in its lists. */
const OTHER = 'other';
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?$/;
/** Matches the version of a protocol, such as `1.2`, which YAML and scripts write as a number. */
const SHORT_DECIMAL = /^\d{1,3}\.\d{1,2}$/;

/**
 * repairedValue returns the value that the generator intended. It repairs numbers written as strings, strings written as numbers, a single string instead of a
 * list, and schema words with different case or separators (`GCM`, `privateKey`). A word that the schema does not list becomes `other` where the schema allows
 * `other`. Returns undefined for any other value, because nothing is guessed.
 *
 * @param detail detail of the fault
 * @param member name of the member that has the value
 * @param mayBeOther whether a word that the schema does not list becomes `other`
 */
export function repairedValue(
  value: unknown,
  detail: string,
  member: string,
  mayBeOther: boolean,
): RepairedValue | undefined {
  const [, type] = /^must be of type (string|integer|number|array)$/.exec(detail) ?? [];
  if (type !== undefined) return ofType(value, type, member);
  if (typeof value !== 'string' || !detail.startsWith(LISTED)) return undefined;
  const words = detail.slice(LISTED.length).split(', ');
  const word = only(words.filter((one) => bare(one) === bare(value)));
  if (word === undefined) return mayBeOther && words.includes(OTHER) ? otherWord(value, words) : undefined;
  return { value: word, code: 'word.repaired', detail: `was written in different case and is read as ${word}` };
}

function ofType(value: unknown, type: string, member: string): RepairedValue | undefined {
  const said = { code: 'type.repaired', detail: `had a different type and is read as the ${type} of the same value` };
  if (type === 'string') {
    const isVersion = /version$/i.test(member) && typeof value === 'number' && SHORT_DECIMAL.test(String(value));
    const isPlain = Number.isSafeInteger(value) || isVersion;
    return isPlain ? { value: String(value), ...said } : undefined;
  }
  if (typeof value !== 'string') return undefined;
  if (type === 'array')
    return { value: [value], code: said.code, detail: 'was a string and is read as a list of that string' };
  if (!NUMBER.test(value)) return undefined;
  const number = Number(value);
  return type === 'number' || Number.isInteger(number) ? { value: number, ...said } : undefined;
}

/**
 * Returns the replacement for a word that is not in the list. A string that contains exactly one word from the list (`AES/ECB`) is replaced with that word, so
 * that weak algorithms are not lost.
 */
function otherWord(value: string, words: readonly string[]): RepairedValue {
  const parts = new Set(value.split(/[^A-Za-z0-9]+/).map(bare));
  const known = only(words.filter((word) => word !== OTHER && word !== 'unknown' && parts.has(bare(word))));
  if (known !== undefined) {
    const said = JSON.stringify(truncate(value, 100));
    return { value: known, code: 'word.repaired', detail: `was ${said} and is read as ${known}` };
  }
  // The word is not quoted, because a misplaced value may be a secret.
  return {
    value: OTHER,
    code: 'word.other',
    detail: 'was a value that the schema does not list, and is read as other',
  };
}

function only<Item>(items: readonly Item[]): Item | undefined {
  return items.length === 1 ? items[0] : undefined;
}

function bare(word: string): string {
  return word.replaceAll(/[ _-]/g, '').toLowerCase();
}

const LICENSES = '/licenses/';

/** licenseAt returns the pointer to the license that contains the fault, and the pointer to the fault within the license. */
export function licenseAt({ pointer }: Fault): { readonly pointer: string; readonly within: string } | undefined {
  const start = pointer.lastIndexOf(LICENSES) + LICENSES.length;
  if (start < LICENSES.length) return undefined;
  const end = pointer.indexOf('/', start);
  const item = end === -1 ? pointer : pointer.slice(0, end);
  return /^\d+$/.test(item.slice(start)) ? { pointer: item, within: pointer.slice(item.length + 1) } : undefined;
}

/**
 * repairedLicense replaces a license id with a name if the id is not in the schema's SPDX list. It also replaces an expression in a list of several licenses
 * with a name, because only CycloneDX 1.7 allows expressions in such lists. Returns undefined for any other license.
 */
export function repairedLicense(item: unknown, within: string): RepairedValue | undefined {
  if (!isMembers(item)) return undefined;
  const { expression, license, ...more } = item;
  if (typeof expression === 'string' && expression !== '' && license === undefined && !within.includes('/')) {
    const detail = 'was an expression in a list of licenses and is treated as a license name';
    return { value: { license: { name: expression, ...more } }, code: 'license.named', detail };
  }
  if (within !== 'license/id' || !isMembers(license)) return undefined;
  const { id, name = id, ...rest } = license;
  if (typeof id !== 'string' || id === '') return undefined;
  const detail = 'its ID is not a known SPDX ID and is treated as a license name';
  return { value: { ...item, license: { ...rest, name } }, code: 'license.named', detail };
}
