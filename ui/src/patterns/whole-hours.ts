const HOUR = 3600;

/** Hours as shown in lists. */
export const hoursOf = (seconds: number, language: string): string =>
  (seconds / HOUR).toLocaleString(language, { maximumFractionDigits: 2 });

/** Whole hours for a form, at least one, from the seconds of the API. */
export const wholeHours = (seconds: number): number => Math.max(1, Math.round(seconds / HOUR));

/** Seconds for the API; a span that is no whole number of hours is kept unless the field was changed. */
export function secondsOf(hours: number, before: number | undefined): number {
  return before !== undefined && wholeHours(before) === hours ? before : hours * HOUR;
}
