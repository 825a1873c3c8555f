import { open } from 'node:fs/promises';

const PATIENCE_MS = 15_000;

/** Witnessed is a line stored by a witness that does not run on any of the service's machines. The line proves what existed before a loss. */
export interface Witnessed {
  readonly at: string;
  /** Name of the backup; undefined for a checkpoint that is witnessed on its own. */
  readonly backup?: string | undefined;
  readonly manifestSha256?: string | undefined;
  /** Newest checkpoint of the log, a signed note (C2SP tlog-checkpoint); undefined if none has been signed yet. */
  readonly checkpoint?: string | undefined;
}

/** tellWitness appends a line to the file, or POSTs it to the URL as JSON. Rejects unless the witness accepted the line. */
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
    throw new Error(`The witness is not responding: ${(cause.cause as Error | undefined)?.message ?? cause.message}`);
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`The witness responded with ${answer.status}`);
}
