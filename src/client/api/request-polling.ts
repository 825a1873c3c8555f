import type { ApiClient } from './api-client.js';
import { usageError } from './exit-codes.js';

const MAX_POLL_S = 30;
const FINAL = new Set(['SIGNED', 'FAILED']);

export interface Request {
  readonly requestId: string;
  readonly status: string;
  /** Digest in base64. */
  readonly digest: string;
  readonly algorithm: string;
  readonly format: string;
  readonly signature?: string;
  readonly timestamp?: string;
  readonly approvalId?: string;
  readonly key: { readonly name: string; readonly version: number };
  readonly failure?: { readonly code: string; readonly detail: string };
}

export function isFinalRequestStatus({ status }: Request): boolean {
  return FINAL.has(status);
}

/** awaited polls a request for at most `seconds`, or until the request is final. */
export async function awaited(api: ApiClient, id: string, seconds: number): Promise<Request> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const left = Math.max(0, Math.ceil((deadline - performance.now()) / 1000));
    const wait = Math.min(left, MAX_POLL_S);
    const request: Request = await api.call('GET', `/api/v1/sign/requests/${encodeURIComponent(id)}?wait=${wait}`);
    if (isFinalRequestStatus(request) || left === 0) return request;
  }
}

/** Parses the value of --wait in seconds. */
export function secondsOf(given: string | undefined): number {
  const seconds = given === undefined ? 0 : Number(given);
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= 86_400) return seconds;
  throw usageError('--wait must be a whole number of seconds from 0 to 86400.');
}
