/** The text without the characters `one` at its end. In time linear in its length, which `/x+$/` is not. */
export function trimEndOf(text: string, one: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === one) end -= 1;
  return text.slice(0, end);
}

/** The text without the characters `one` at its beginning and end. */
export function trimOf(text: string, one: string): string {
  let start = 0;
  while (start < text.length && text[start] === one) start += 1;
  return trimEndOf(text.slice(start), one);
}
