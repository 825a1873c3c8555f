const HOUR = 3600;

/** As a list shows it. */
export const hoursOf = (seconds: number, language: string): string =>
  (seconds / HOUR).toLocaleString(language, { maximumFractionDigits: 2 });

/** What a form shows of a span that the API has in seconds: one hour at least. */
export const wholeHours = (seconds: number): number => Math.max(1, Math.round(seconds / HOUR));

/** What the API is told: a span of half an hour stays one as long as nobody has touched it. */
export function secondsOf(hours: number, before: number | undefined): number {
  return before !== undefined && wholeHours(before) === hours ? before : hours * HOUR;
}
