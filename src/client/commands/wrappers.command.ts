import { type ClientCommand, shellWord } from '../api/command.js';
import { EXIT, usageError } from '../api/exit-codes.js';
import { WRAPPER_MARK } from '../gpg/real-gpg.js';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export const wrappers: ClientCommand = {
  name: 'wrappers',
  usage: 'DIRECTORY',
  meaning:
    'writes gpg, gpgconf and notation-sealwright into a directory, so that other tools sign through this program',
  options: {},
  forms: { write: { uses: [], when: 'when writing wrappers', isOffline: true } },
  async run({ positionals, print }) {
    const [directory, ...more] = positionals;
    const [, program] = process.argv;
    if (directory === undefined || more.length > 0 || program === undefined)
      throw usageError('wrappers requires exactly one directory.');
    const paths = await writeWrappers(directory, program);
    print(paths, paths);
    return EXIT.done;
  },
};

/** Names of programs that other programs call, with the arguments of this program that replace each program. */
const WRAPPERS: Readonly<Record<string, (directory: string) => readonly string[]>> = {
  gpg: () => ['gpg'],
  // gpgconf must report the gpg in the same directory.
  gpgconf: (directory) => ['gpgconf', directory],
  'notation-sealwright': () => ['notation'],
};

/** Writes wrapper scripts through which other programs run this program. Returns the paths of the scripts. */
async function writeWrappers(directory: string, program: string): Promise<string[]> {
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
