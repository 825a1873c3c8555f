import { writeWrappers } from '../gpg/wrappers.js';
import type { ClientCommand } from '../api/command.js';
import { EXIT, usageError } from '../api/exit-codes.js';

export const wrappers: ClientCommand = {
  name: 'wrappers',
  usage: 'DIRECTORY',
  meaning:
    'writes gpg, gpgconf and notation-sealwright into a directory: programs by which other tools sign with this one',
  options: {},
  async run({ positionals, print }) {
    const [directory, ...more] = positionals;
    const [, program] = process.argv;
    if (directory === undefined || more.length > 0 || program === undefined)
      throw usageError('wrappers takes one directory.');
    const paths = await writeWrappers(directory, program);
    print(paths, paths);
    return EXIT.done;
  },
};
