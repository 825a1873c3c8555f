import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const PROGRAM = join(import.meta.dirname, '../../dist/sealwright.js');

export interface EndedProgram {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Start {
  /** Environment variables of the CLI, such as SEALWRIGHT_URL, SEALWRIGHT_TOKEN and HOME. PATH is the only variable inherited from this process. */
  readonly env?: Record<string, string>;
  readonly input?: string;
  /** Receives stderr while the program runs. */
  readonly hear?: (err: string) => void;
}

/** Runs the built CLI in a separate process. */
export async function sealwright(args: string[], { env, input = '', hear }: Start = {}): Promise<EndedProgram> {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { PATH, ...env }, stdio: 'pipe' });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
    hear?.(err);
  });
  child.stdin.end(input);
  await once(child, 'close');
  return { code: child.exitCode ?? -1, out, err };
}
