import { Cron } from 'croner';

/** Defines due times: `cron` in `timeZone`, or every `intervalSeconds` from `createdAt`. */
export interface Timetable {
  readonly cron: string | null;
  readonly intervalSeconds: number | null;
  readonly timeZone: string;
  readonly createdAt: Date;
}

/** DueSpan summarizes the due times in a time span. */
export interface DueSpan {
  readonly last: Date;
  /** Number of due times before `last`, at most MAX_COUNTED. */
  readonly earlier: number;
}

const MAX_COUNTED = 100;

/**
 * Returns up to `count` due times after `after`, in order. When clocks go forward, a time that does not exist is due at the moment of the change. When clocks
 * go back, a fixed time is due once, at its first occurrence, whereas `*` and steps of hours and minutes are due at both occurrences.
 */
export function dueTimes(table: Timetable, after: Date, count: number): Date[] {
  if (table.cron !== null) return cronOf(table, table.cron).nextRuns(count, after);
  const step = stepOf(table);
  const first = Math.floor((after.getTime() - table.createdAt.getTime()) / step) + 1;
  return Array.from({ length: count }, (_, i) => new Date(table.createdAt.getTime() + Math.max(1, first + i) * step));
}

export function nextDue(table: Timetable, after: Date): Date | null {
  return dueTimes(table, after, 1)[0] ?? null;
}

/** Summarizes the due times from `first`, which must be a due time, to `until`. */
export function dueSpan(table: Timetable, first: Date, until: Date): DueSpan {
  const passed =
    table.cron === null ? passedIntervals(table, first, until) : passedCron(table, table.cron, first, until);
  return { last: passed.at(0) ?? first, earlier: Math.max(0, passed.length - 1) };
}

/** Returns the reason why a timetable is invalid, or undefined if it is valid. */
export function timetableFault(table: Timetable): { pointer: string; detail: string } | undefined {
  if (!isTimeZone(table.timeZone))
    return { pointer: '/timeZone', detail: `"${table.timeZone}" is not an IANA time zone` };
  if ((table.cron === null) === (table.intervalSeconds === null))
    return { pointer: '/cron', detail: 'specify either cron or intervalSeconds' };
  if (table.cron === null) return undefined;
  try {
    const found = nextDue(table, new Date());
    return found === null ? { pointer: '/cron', detail: `"${table.cron}" never matches a date` } : undefined;
  } catch (error) {
    const detail = error instanceof Error ? error.message.replace(/^\w+: /, '') : 'is not a valid cron expression';
    return { pointer: '/cron', detail };
  }
}

function cronOf({ timeZone }: Timetable, cron: string): Cron {
  return new Cron(cron, { timezone: timeZone, mode: '5-part' });
}

function stepOf({ intervalSeconds }: Timetable): number {
  return (intervalSeconds ?? 0) * 1000;
}

/** Returns due times, newest first. */
function passedCron(table: Timetable, cron: string, first: Date, until: Date): Date[] {
  const passed = cronOf(table, cron).previousRuns(MAX_COUNTED + 1, new Date(until.getTime() + 1));
  return passed.filter((time) => time >= first);
}

function passedIntervals(table: Timetable, first: Date, until: Date): Date[] {
  const step = stepOf(table);
  const steps = Math.max(0, Math.floor((until.getTime() - first.getTime()) / step));
  const counted = Math.min(steps, MAX_COUNTED);
  return Array.from({ length: counted + 1 }, (_, i) => new Date(first.getTime() + (steps - i) * step));
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '' && !/^[+-]/.test(name);
  } catch {
    return false;
  }
}
