import { createHash, randomUUID } from 'node:crypto';

/**
 * Returns an Idempotency-Key. With `run`, the key is derived from the run and the body, so that a repeated pipeline run finds the request of the earlier run.
 * Without `run`, every call creates a new request.
 */
export function requestName(run: string | undefined, body: object): string {
  if (run === undefined) return randomUUID();
  return `run-${createHash('sha256')
    .update(JSON.stringify([run, body]))
    .digest('base64url')}`;
}
