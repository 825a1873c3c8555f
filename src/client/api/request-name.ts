import { createHash, randomUUID } from 'node:crypto';

/** Returns an Idempotency-Key: a repetition of a pipeline run finds the request of the run before; every other call is a new request. */
export function requestName(run: string | undefined, body: object): string {
  if (run === undefined) return randomUUID();
  return `run-${createHash('sha256')
    .update(JSON.stringify([run, body]))
    .digest('base64url')}`;
}
