import type { Fault } from '../../../platform/errors/problem.js';
import { truncate } from '../../../platform/text/truncate.js';
import type { Remark } from '../../model/document.js';
import { addRemark } from '../../model/document-remarks.js';
import { isDateTime } from '../../model/date-time.js';
import { stepsOf } from '../../../platform/json/json-pointer.js';
import { licenseAt, repairedLicense, repairedValue } from './repaired-values.js';

const ALMOST =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ]+(\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d{0,9})?)? ?(Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?(?: [A-Z]{3,5})?)?$/;

/**
 * Completes a time that is not a date-time (RFC 3339 section 5.6): a missing or textual zone means UTC, a missing time of day means the start of the day,
 * `+0000` and `+00` get a colon, and a second 60 that is not a leap second becomes 59. Also converts times printed by OpenSSL, Java and Go, and DER times in
 * certificates. Returns undefined for any other text.
 */
function repairedTime(text: string): string | undefined {
  const [, date, minutes = '00:00', seconds = '00', fraction, zone = 'Z'] =
    ALMOST.exec(fromPrinted(text) ?? text) ?? [];
  if (date === undefined) return undefined;
  const time = `${date}T${minutes}:${seconds === '60' ? '59' : seconds}${fraction === undefined ? '' : `.${fraction}`}`;
  const [, sign, hours, offset = '00'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  const repaired = `${time}${sign === undefined ? 'Z' : `${sign}${hours}:${offset}`}`;
  return isDateTime(repaired) ? repaired : undefined;
}

const PRINTED = /^([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4}) GMT$/;
/** Matches `Mon Jan 01 00:00:00 UTC 2024`, as printed by Java and date(1). Names of other time zones are ambiguous. */
const PRINTED_BY_JAVA = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d) (?:GMT|UTC) (\d{4})$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Matches UTCTime for the years 1950 to 2049, and GeneralizedTime (RFC 5280 section 4.1.2.5). */
const OF_DER = /^(\d\d)?(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

/** Converts times printed by OpenSSL (`Jan  1 00:00:00 2024 GMT`) or Java, and DER times (`240101000000Z`). */
function fromPrinted(text: string): string | undefined {
  const [, century, short, ...parts] = OF_DER.exec(text) ?? [];
  if (short !== undefined) {
    const [monthOf, dayOf, ...clock] = parts;
    return `${century ?? (Number(short) < 50 ? '20' : '19')}${short}-${monthOf}-${dayOf}T${clock.join(':')}Z`;
  }
  const [, month = '', day = '', time = '', year = ''] = PRINTED.exec(text) ?? PRINTED_BY_JAVA.exec(text) ?? [];
  const number = MONTHS.indexOf(month) + 1;
  if (number === 0) return undefined;
  return `${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}T${time}Z`;
}

/** Encodes characters that an IRI reference cannot contain, such as spaces and braces (RFC 3987 section 2.2). */
function repairedReference(text: string): string {
  return text.trim().replaceAll(/[\s<>"{}|\\^`]/g, encodeURIComponent);
}

const UUID = /^\{?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\}?$/i;

/** Converts a bare UUID to the URN of a serial number (RFC 9562 section 4). Returns undefined for any other text. */
function repairedSerial(text: string): string | undefined {
  const [, uuid] = UUID.exec(text.trim()) ?? [];
  return uuid === undefined ? undefined : `urn:uuid:${uuid.toLowerCase()}`;
}

/** Repairs of strings. A repair applies to faults that begin with `fault`. */
const TEXT_REPAIRS = [
  { fault: 'must be a date-time', code: 'time.repaired', kind: 'time of RFC 3339', repaired: repairedTime },
  {
    fault: 'must be a iri-reference',
    code: 'reference.repaired',
    kind: 'reference of RFC 3987',
    repaired: repairedReference,
  },
  { fault: 'must match ^urn:uuid:', code: 'serial.repaired', kind: 'urn:uuid', repaired: repairedSerial },
] as const;

/**
 * repairTexts repairs the values in `root` that `faults` point to, if no information is lost: incomplete times, references with spaces, bare serial numbers,
 * values with the wrong type or letter case, licenses that SPDX does not list, and null or empty members, which are removed. Returns false and repairs
 * nothing unless all faults are of these kinds. A removed member may be required.
 *
 * @param depth number of pointer steps that lead to `root` itself
 */
export function repairTexts(root: unknown, depth: number, faults: readonly Fault[], repairs: Remark[]): boolean {
  const found = new Map(
    faults.map((fault) => [licenseAt(fault)?.pointer ?? fault.pointer, repairOf(root, depth, fault)]),
  );
  if (found.size === 0 || [...found.values()].includes(undefined)) return false;
  for (const [pointer, repair] of found) {
    if (repair === undefined) continue;
    const { holder, member, value, code, detail } = repair;
    noteChange(repair);
    if (value === undefined) Reflect.deleteProperty(holder, member);
    else holder[member] = value;
    addRemark(repairs, { pointer, code, detail });
  }
  return true;
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly member: string;
}

interface Repair extends Place {
  /** New value; undefined if the member is removed. */
  readonly value: unknown;
  readonly code: string;
  readonly detail: string;
}

/** Members whose type was changed. A member that is still invalid with the new type is not changed back. */
const changed = new WeakMap<object, Set<string>>();

function repairOf(root: unknown, depth: number, about: Fault): Repair | undefined {
  const license = licenseAt(about);
  const item = license === undefined ? undefined : placeOf(root, depth, license.pointer);
  const named = item && repairedLicense(item.holder[item.member], license?.within ?? '');
  if (item !== undefined && named !== undefined) return { ...item, ...named };
  const place = placeOf(root, depth, about.pointer);
  return place && repairAt(place, about);
}

/** Path of the cryptographic facts, in which unknown words are accepted. Elsewhere, a word can determine how the other members are interpreted. */
const CRYPTO = '/cryptoProperties/';

function repairAt(place: Place, { pointer, detail }: Fault): Repair | undefined {
  const value = place.holder[place.member];
  if ((value === null || value === '') && !Array.isArray(place.holder)) {
    const said = value === null ? 'was null' : 'was an empty string';
    return { ...place, value: undefined, code: 'empty.removed', detail: `${said} and is ignored` };
  }
  const other = repairedValue(value, detail, place.member, pointer.includes(CRYPTO));
  if (other !== undefined) return wasChanged(place) ? undefined : { ...place, ...other };
  if (typeof value !== 'string') return undefined;
  const repair = TEXT_REPAIRS.find(({ fault }) => detail.startsWith(fault));
  const repaired = repair?.repaired(value);
  if (repair === undefined || repaired === undefined) return undefined;
  const { code, kind } = repair;
  return {
    ...place,
    value: repaired,
    code,
    detail: `was not a valid ${kind} and is read as ${truncate(repaired, 200)}`,
  };
}

function wasChanged({ holder, member }: Place): boolean {
  return changed.get(holder)?.has(member) === true;
}

function noteChange({ holder, member }: Place): void {
  changed.set(holder, (changed.get(holder) ?? new Set()).add(member));
}

/** Returns the object or list that contains the target of a pointer, or undefined if that object or list does not exist. */
function placeOf(root: unknown, depth: number, pointer: string): Place | undefined {
  const steps = stepsOf(pointer).slice(depth);
  const member = steps.pop();
  let holder: unknown = root;
  for (const step of steps) {
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, step)) return undefined;
    holder = (holder as Record<string, unknown>)[step];
  }
  if (member === undefined || typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, member))
    return undefined;
  return { holder: holder as Record<string, unknown>, member };
}
