/** isStorable reports whether a text has no control character and no half of a surrogate pair: PostgreSQL stores it, and logs show it in one line. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text);
}
