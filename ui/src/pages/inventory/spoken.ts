/** A word of the rules, such as `not-approved-beyond`, as people write it. */
export const spoken = (word: string): string => word.replaceAll('-', ' ');
