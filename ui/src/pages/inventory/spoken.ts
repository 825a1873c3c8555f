/** A word of the rules, such as `not-approved-beyond`, as people write it. */
export const spoken = (word: string): string => word.replaceAll('-', ' ');

/** Deadlines, the next first. */
export const inOrder = <Dated extends { readonly date: string }>(dates: readonly Dated[]): readonly Dated[] =>
  dates.toSorted((a, b) => a.date.localeCompare(b.date));
