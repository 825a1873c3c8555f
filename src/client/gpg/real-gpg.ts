import { spawn, execFile } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ClientError, EXIT } from '../api/exit-codes.js';
import { promisify } from 'node:util';

/** A line of each of our wrappers. */
export const WRAPPER_MARK = '# Runs sealwright in place of the program of this name.';
const MAX_WRAPPER_BYTES = 2000;

/** The real program of this name in PATH, which is none of our wrappers. ClientError when there is none. */
export function realProgram(name: string, { PATH = '' }: NodeJS.ProcessEnv): string {
  const found = PATH.split(delimiter)
    .filter((directory) => directory !== '')
    .map((directory) => join(directory, name))
    .find((path) => isProgram(path) && !isWrapper(path));
  if (found !== undefined) return found;
  throw new ClientError(EXIT.failed, `${name} itself is not in PATH, and this is its work: install gnupg.`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether a program is one that `sealwright wrappers` wrote. */
export function isWrapper(path: string): boolean {
  return readFileSync(path).subarray(0, MAX_WRAPPER_BYTES).includes(WRAPPER_MARK);
}

/** Descriptors that GPGME passes beyond the first three. */
const MAX_DESCRIPTOR = 63;

/** Runs the real program with these arguments and every descriptor of ours, and ends as it ends. */
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
