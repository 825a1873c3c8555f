import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { shellWord } from '../api/shell-word.js';

/** Names by which other programs look for theirs, and the words that stand for each behind the name of this program. */
const WRAPPERS: Readonly<Record<string, (directory: string) => readonly string[]>> = {
  gpg: () => ['gpg'],
  // It must name the gpg beside it.
  gpgconf: (directory) => ['gpgconf', directory],
  'notation-sealwright': () => ['notation'],
};
export const WRAPPER_MARK = '# Runs sealwright in place of the program of this name.';

/** Writes small programs into a directory, by which others run this one. Answers their paths. */
export async function writeWrappers(directory: string, program: string): Promise<string[]> {
  const place = resolve(directory);
  await mkdir(place, { recursive: true });
  const paths: string[] = [];
  for (const [name, wordsFor] of Object.entries(WRAPPERS)) {
    const path = join(place, name);
    const words = [process.execPath, resolve(program), ...wordsFor(place)].map(shellWord).join(' ');
    await writeFile(path, `#!/bin/sh\n${WRAPPER_MARK}\nexec ${words} "$@"\n`);
    await chmod(path, 0o755);
    paths.push(path);
  }
  return paths;
}
