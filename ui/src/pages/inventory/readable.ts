/** Readable form of a rule term, such as `not-approved-beyond`. */
export const readable = (word: string): string => word.replaceAll('-', ' ');

/** Deadlines, the next first. */
export const inOrder = <Dated extends { readonly date: string }>(dates: readonly Dated[]): readonly Dated[] =>
  dates.toSorted((a, b) => a.date.localeCompare(b.date));
