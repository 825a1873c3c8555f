import { spawn, execFile } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ClientError, EXIT } from '../api/exit-codes.js';
import { promisify } from 'node:util';

/** WRAPPER_MARK is a line that identifies the wrappers of this program. */
export const WRAPPER_MARK = '# Runs sealwright in place of the program of this name.';
const MAX_WRAPPER_BYTES = 2000;

/**
 * Returns the path of the real program with this name, skipping wrappers.
 *
 * @throws ClientError if the PATH contains no such program
 */
export function realProgram(name: string, { PATH = '' }: NodeJS.ProcessEnv): string {
  const found = PATH.split(delimiter)
    .filter((directory) => directory !== '')
    .map((directory) => join(directory, name))
    .find((path) => isProgram(path) && !isWrapper(path));
  if (found !== undefined) return found;
  throw new ClientError(EXIT.failed, `The real ${name} is not in PATH, but this operation needs it. Install gnupg.`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Reports whether a program is a wrapper written by `sealwright wrappers`. */
export function isWrapper(path: string): boolean {
  return readFileSync(path).subarray(0, MAX_WRAPPER_BYTES).includes(WRAPPER_MARK);
}

/** Highest descriptor that is passed on. GPGME also uses descriptors beyond the first three. */
const MAX_DESCRIPTOR = 63;

/** Runs the real program with the given arguments and descriptors. Returns the exit code. */
export async function runReal(
  program: string,
  args: readonly string[],
  descriptors: readonly number[],
): Promise<number> {
  const highest = Math.min(Math.max(2, ...descriptors), MAX_DESCRIPTOR);
  const wanted = new Set([0, 1, 2, ...descriptors]);
  const stdio = Array.from({ length: highest + 1 }, (_, fd) => (wanted.has(fd) ? fd : ('ignore' as const)));
  const child = spawn(program, args, { stdio });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? EXIT.failed;
}

const LISTED = /^gpg:([^:]*):[^:]*$/m;

/**
 * Implements gpgconf, through which GPGME (used by reprepro and many other programs) finds gpg. Reports the wrapper as gpg, and passes every other call to the
 * real gpgconf.
 *
 * @param directory directory that contains the wrappers, including gpg
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
