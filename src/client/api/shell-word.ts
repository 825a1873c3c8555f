/** A word as a POSIX shell reads it back, whatever is in it. */
export function shellWord(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
