/** Removes all trailing occurrences of the character `one`, in linear time, unlike `/x+$/`. */
export function trimEndOf(text: string, one: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === one) end -= 1;
  return text.slice(0, end);
}

/** Removes all leading and trailing occurrences of the character `one`. */
export function trimOf(text: string, one: string): string {
  let start = 0;
  while (start < text.length && text[start] === one) start += 1;
  return trimEndOf(text.slice(start), one);
}
