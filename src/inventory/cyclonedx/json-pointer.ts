/** RFC 6901 pointer of a path of member names and array indexes. */
export function pointerOf(path: readonly (string | number)[]): string {
  return path.map((part) => `/${escape(String(part))}`).join('');
}

function escape(part: string): string {
  return part.slice(0, 100).toWellFormed().replaceAll('\u0000', '').replaceAll('~', '~0').replaceAll('/', '~1');
}
