import type { Fault } from '../../platform/errors/problem.js';
import type { Remark } from '../model/document.js';
import { isDateTime } from '../model/date-time.js';

/** The fault that checks report for a text that is no time. */
export const NO_TIME = 'must be a date-time';
const ALMOST =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ]+(\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d{0,9})?)? ?(Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?$/;
const MAX_REPAIRS = 1000;

/**
 * Completes a time that lacks parts of RFC 3339 section 5.6: no zone or a zone in words is UTC, no time of day is the start of
 * the day, `+0000` and `+00` get their colon, a second 60 that is no leap second becomes 59. Undefined for a text that is no time.
 */
export function repairedTime(text: string): string | undefined {
  const [, date, minutes = '00:00', seconds = '00', fraction, zone = 'Z'] = ALMOST.exec(text) ?? [];
  if (date === undefined) return undefined;
  const time = `${date}T${minutes}:${seconds === '60' ? '59' : seconds}${fraction === undefined ? '' : `.${fraction}`}`;
  const [, sign, hours, offset = '00'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  const repaired = `${time}${sign === undefined ? 'Z' : `${sign}${hours}:${offset}`}`;
  return isDateTime(repaired) ? repaired : undefined;
}

/**
 * Repairs the times that `faults` point to, where they stand in `root`. Answers whether all faults were of that kind: then they
 * are gone.
 *
 * @param depth steps of the pointers that lead to `root` itself.
 */
export function repairTimes(root: unknown, depth: number, faults: readonly Fault[], repairs: Remark[]): boolean {
  const found = faults.map(({ pointer, detail }) => (detail === NO_TIME ? timeAt(root, depth, pointer) : undefined));
  if (found.length === 0 || found.includes(undefined)) return false;
  for (const one of found) {
    if (one === undefined) continue;
    const { holder, member, repaired, pointer } = one;
    holder[member] = repaired;
    if (repairs.length < MAX_REPAIRS)
      repairs.push({ pointer, code: 'time.repaired', detail: `was no time of RFC 3339 and is read as ${repaired}` });
  }
  return true;
}

interface FoundTime {
  readonly holder: Record<string, unknown>;
  readonly member: string;
  readonly repaired: string;
  readonly pointer: string;
}

function timeAt(root: unknown, depth: number, pointer: string): FoundTime | undefined {
  const steps = pointer
    .split('/')
    .slice(1 + depth)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const member = steps.pop();
  let holder: unknown = root;
  for (const step of steps) {
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, step)) return undefined;
    holder = (holder as Record<string, unknown>)[step];
  }
  if (member === undefined || typeof holder !== 'object' || holder === null) return undefined;
  const members = holder as Record<string, unknown>;
  const text = Object.hasOwn(members, member) ? members[member] : undefined;
  const repaired = typeof text === 'string' ? repairedTime(text) : undefined;
  return repaired === undefined ? undefined : { holder: members, member, repaired, pointer };
}
