/** RFC 6901 pointer of a path of member names and array indexes. */
import { truncate } from '../../platform/text/truncate.js';
export function pointerOf(path: readonly (string | number)[]): string {
  return path.map((part) => `/${escape(String(part))}`).join('');
}

function escape(part: string): string {
  return truncate(part, 100).replaceAll('\u0000', '').replaceAll('~', '~0').replaceAll('/', '~1');
}
