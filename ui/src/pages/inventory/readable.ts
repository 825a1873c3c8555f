/** readable formats a rule term, such as `not-approved-beyond`. */
export const readable = (word: string): string => word.replaceAll('-', ' ');

/** inOrder sorts deadlines by date. */
export const inOrder = <Dated extends { readonly date: string }>(dates: readonly Dated[]): readonly Dated[] =>
  dates.toSorted((a, b) => a.date.localeCompare(b.date));
