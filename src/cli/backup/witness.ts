import { open, readFile } from 'node:fs/promises';
import { openNote } from '../../verifier/signed-note.js';
import { AdminError, ADMIN_EXIT } from '../command.js';
import { readJson } from '../../platform/json/strict-json.js';

const PATIENCE_MS = 15_000;
const MAX_WITNESS_BYTES = 16 * 1024 * 1024;

/** What a witness keeps outside of the machines of the service: without it nobody can tell a backup from a forged or an older one. */
export interface Witnessed {
  readonly at: string;
  /** Name of the backup. */
  readonly backup: string;
  readonly manifestSha256: string;
  /** The newest checkpoint of the log, a signed note (C2SP tlog-checkpoint); undefined when there is none yet. */
  readonly checkpoint?: string | undefined;
}

/** Whether a witness can be used: an HTTPS address, or the path of a file. */
export function assertWitness(witness: string): void {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(witness)) return;
  const url = URL.canParse(witness) ? new URL(witness) : undefined;
  const isLocal = url?.hostname === '127.0.0.1' || url?.hostname === '[::1]' || url?.hostname === 'localhost';
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return;
  throw new AdminError(`--witness takes a file or an https:// address, not ${witness}`, ADMIN_EXIT.usage);
}

/** Appends a line to the file, or sends it to the address by POST as JSON. Rejects when it was not taken. */
export async function tellWitness(witness: string, said: Witnessed): Promise<void> {
  const line = JSON.stringify(said);
  if (/^https?:\/\//i.test(witness)) return send(witness, line);
  const file = await open(witness, 'a', 0o600);
  try {
    await file.appendFile(`${line}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function send(address: string, body: string): Promise<void> {
  const answer = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch((cause: Error) => {
    throw new AdminError(
      `The witness does not answer: ${(cause.cause as Error | undefined)?.message ?? cause.message}`,
    );
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new AdminError(`The witness answered ${answer.status}`);
}

/** The lines of a witness's file. A line that was cut short, or is of somebody else, is passed over. */
export async function readWitness(file: string): Promise<Witnessed[]> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new AdminError(`The witness cannot be read: ${cause.message}`);
  });
  if (text.length > MAX_WITNESS_BYTES) throw new AdminError(`${file} is too large for a witness`);
  return text.split('\n').flatMap((line) => {
    try {
      const { at, backup, manifestSha256, checkpoint } = readJson(line) as Partial<Witnessed>;
      const texts = [at, backup, manifestSha256];
      if (texts.some((one) => typeof one !== 'string')) return [];
      return [{ at, backup, manifestSha256, checkpoint } as Witnessed];
    } catch {
      return [];
    }
  });
}

/** The newest state that witnesses saw of a log, if the key of the log signed it. */
export function newestWitnessed(
  said: readonly Witnessed[],
  { origin, publicKey }: { readonly origin: string; readonly publicKey: Buffer },
): { readonly size: number; readonly root: Buffer } | undefined {
  return said
    .flatMap(({ checkpoint }) => (checkpoint === undefined ? [] : (openNote(checkpoint, publicKey) ?? [])))
    .filter((checkpoint) => checkpoint.origin === origin)
    .sort((one, other) => other.size - one.size)[0];
}
