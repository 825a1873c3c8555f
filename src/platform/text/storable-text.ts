/** isStorable reports whether text contains no control characters and no lone surrogates, so that PostgreSQL can store it and logs show it on one line. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text);
}
