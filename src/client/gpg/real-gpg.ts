import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ClientError, EXIT } from '../api/exit-codes.js';
import { WRAPPER_MARK } from './wrappers.js';

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

function isWrapper(path: string): boolean {
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
