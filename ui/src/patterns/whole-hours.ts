const HOUR = 3600;

/** hoursOf formats seconds as hours for lists. */
export const hoursOf = (seconds: number, language: string): string =>
  (seconds / HOUR).toLocaleString(language, { maximumFractionDigits: 2 });

/** wholeHours converts seconds to whole hours for a form, at least one. */
export const wholeHours = (seconds: number): number => Math.max(1, Math.round(seconds / HOUR));

/** secondsOf converts hours to seconds. If the field was not changed, a duration that is not a whole number of hours is kept. */
export function secondsOf(hours: number, before: number | undefined): number {
  return before !== undefined && wholeHours(before) === hours ? before : hours * HOUR;
}
