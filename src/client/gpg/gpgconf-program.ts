import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { realProgram, runReal } from './real-gpg.js';

const LISTED = /^gpg:([^:]*):[^:]*$/m;

/**
 * Answers as gpgconf, by which GPGME finds gpg (reprepro, many others): the gpg that it names is ours. Everything else is the real one's.
 *
 * @param directory where the wrappers are; the gpg in it is ours
 */
export async function gpgconf(
  [directory = '', ...args]: readonly string[],
  variables: NodeJS.ProcessEnv,
): Promise<number> {
  const program = realProgram('gpgconf', variables);
  if (!args.includes('--list-components')) return runReal(program, args, []);
  const { stdout } = await promisify(execFile)(program, args);
  const ours = join(directory, 'gpg').replaceAll('%', '%25').replaceAll(':', '%3a');
  process.stdout.write(stdout.replace(LISTED, (_, about: string) => `gpg:${about}:${ours}`));
  return 0;
}
