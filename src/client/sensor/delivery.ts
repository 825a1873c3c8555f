import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../api/api-client.js';
import { ClientError } from '../api/exit-codes.js';
import type { Spool, SpooledScan } from './spool.js';

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;

/** Delivered summarizes the service's responses to a scan. */
export interface Delivered {
  batches: number;
  received: number;
  created: number;
  updated: number;
  unchanged: number;
  /** Number of items that the service rejected. */
  rejected: number;
  /** Number of batches that the service will never accept. */
  refused: number;
}

export interface DeliveryOptions {
  /** Maximum time in milliseconds for which the service may be unavailable. After that, delivery is abandoned, and the remaining batches stay in the spool. */
  readonly patienceMs: number;
  readonly note: (line: string) => void;
}

/**
 * Delivers the spooled scan batch by batch, in order. Each batch has an idempotency key, so a batch whose response was lost can be sent again and is accepted
 * only once.
 *
 * @throws ClientError if the service stays unavailable or rejects the credential; the remaining batches stay in the spool
 */
export async function deliver(
  api: ApiClient,
  spool: Spool,
  scan: SpooledScan,
  options: DeliveryOptions,
): Promise<Delivered> {
  const total: Delivered = { batches: 0, received: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, refused: 0 };
  for (const batch of await spool.batches()) {
    const json = await spool.read(batch);
    const headers = { 'idempotency-key': `${scan.id}-${batch.slice(0, 6)}` };
    try {
      const outcome = await patiently(options, () =>
        api.call('POST', '/api/ingest', { json, headers, repeatable: true }),
      );
      await spool.delivered(batch);
      count(total, outcome as Outcome);
    } catch (error) {
      if (!isForever(error)) throw error;
      const kept = await spool.refused(scan, batch, error.message);
      total.refused += 1;
      options.note(`A batch was rejected and is kept as ${kept}: ${error.message}`);
    }
  }
  return total;
}

type Outcome = Record<'received' | 'created' | 'updated' | 'unchanged', number> & { rejected: unknown[] };

function count(total: Delivered, { received, created, updated, unchanged, rejected }: Outcome): void {
  total.batches += 1;
  total.received += received;
  total.created += created;
  total.updated += updated;
  total.unchanged += unchanged;
  total.rejected += rejected.length;
}

/** Retries a call while the service is unavailable or busy, waiting at least as long as the service requests. */
export async function patiently<T>({ patienceMs, note }: DeliveryOptions, call: () => Promise<T>): Promise<T> {
  const began = performance.now();
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    try {
      return await call();
    } catch (error) {
      const left = patienceMs - (performance.now() - began);
      if (!isPassing(error) || left <= 0) throw error;
      const asked = (error.retryAfter ?? 0) * 1000;
      const wait = Math.min(Math.max(pause, asked), left);
      note(`${error.message} Retrying in ${Math.ceil(wait / 1000)} s.`);
      await sleep(wait);
    }
  }
}

/** Reports whether a call failed for a temporary reason: no response, or status 408, 429 or 5xx. */
export function isPassing(error: unknown): error is ClientError {
  if (!(error instanceof ClientError)) return false;
  return error.status === undefined || error.status === 408 || error.status === 429 || error.status >= 500;
}

function isForever(error: unknown): error is ClientError {
  if (!(error instanceof ClientError)) return false;
  // `source.owned` means that the source belongs to another reporter. Other batches may be for other sources.
  return [400, 409, 413, 415, 422].includes(error.status ?? 0) || error.problem === 'source.owned';
}
