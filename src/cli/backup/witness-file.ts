import { open } from 'node:fs/promises';
import type { Witnessed } from '../../audit/log/witness.js';
import { openNote } from '../../verifier/signed-note.js';
import { AdminError } from '../command.js';
import { readJson } from '../../platform/json/strict-json.js';

/**
 * Maximum number of bytes read from the end of a witness file. With about 400 bytes per line, this limit covers the last month of a log that grows
 * continuously.
 */
const MAX_READ_BYTES = 16 * 1024 * 1024;

/** readWitness returns the last lines of a witness file. Truncated and malformed lines are skipped. */
export async function readWitness(file: string): Promise<Witnessed[]> {
  const text = await tailOf(file).catch((cause: Error) => {
    throw new AdminError(`Cannot read the witness: ${cause.message}`);
  });
  return text.split('\n').flatMap((line) => {
    try {
      const { at, backup, manifestSha256, checkpoint } = readJson(line) as Partial<Witnessed>;
      if (
        typeof at !== 'string' ||
        [backup, manifestSha256].some((one) => !['string', 'undefined'].includes(typeof one))
      )
        return [];
      return [{ at, backup, manifestSha256, checkpoint }];
    } catch {
      return [];
    }
  });
}

async function tailOf(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, MAX_READ_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await handle.close();
  }
}

/** newestWitnessed returns the newest log state that witnesses recorded with a valid signature by the log key. */
export function newestWitnessed(
  said: readonly Witnessed[],
  { origin, publicKey }: { readonly origin: string; readonly publicKey: Buffer },
): { readonly size: number; readonly root: Buffer } | undefined {
  return said
    .flatMap(({ checkpoint }) => (checkpoint === undefined ? [] : (openNote(checkpoint, publicKey) ?? [])))
    .filter((checkpoint) => checkpoint.origin === origin)
    .sort((one, other) => other.size - one.size)[0];
}
