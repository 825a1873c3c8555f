export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** When a key may be used: on these days, from `from` until `until` (HH:MM; 24:00 is the end of the day) on the clocks of `timeZone`. */
export interface SigningHours {
  readonly days: readonly Weekday[];
  readonly from: string;
  readonly until: string;
  /** A name of the IANA time zone database. */
  readonly timeZone: string;
}

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format();
    return true;
  } catch {
    return false;
  }
}

export function withinHours({ days, from, until, timeZone }: SigningHours, now: Date): boolean {
  const options = { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const parts = new Map(
    new Intl.DateTimeFormat('en-GB', options).formatToParts(now).map(({ type, value }) => [type, value]),
  );
  const time = `${parts.get('hour')}:${parts.get('minute')}`;
  return days.some((day) => day === parts.get('weekday')?.toLowerCase()) && from <= time && time < until;
}
