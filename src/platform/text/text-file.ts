import { readFile } from 'node:fs/promises';

/** readTextFile reads a UTF-8 file and removes the byte order mark that Windows editors add. */
export async function readTextFile(file: string): Promise<string> {
  return withoutByteOrderMark(await readFile(file, 'utf8'));
}

export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
