import { createHash, createPublicKey, verify } from 'node:crypto';
import type { Answer, Service } from './service.js';

export interface PublishedKey {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** Public key as PEM. */
  readonly publicKey: string;
}

export function digestOf(content: string | Buffer, algorithm = 'sha256'): string {
  return createHash(algorithm).update(content).digest('base64');
}

export interface SignOptions {
  readonly key: string;
  readonly body: Record<string, unknown>;
  readonly headers?: Record<string, string>;
}

export function sign(service: Service, { key, body, headers }: SignOptions): Promise<Answer> {
  return service.call('POST', '/api/v1/sign/digest', { key, body, headers });
}

/** Waits up to `seconds` for a request to become final and returns it. */
export function read(service: Service, apiKey: string, requestId: string, seconds = 10): Promise<Answer> {
  return service.call('GET', `/api/v1/sign/requests/${requestId}?wait=${seconds}`, { key: apiKey });
}

/** Generates a signing key. */
export async function createKey(
  service: Service,
  apiKey: string,
  order: { name: string; type: string; purpose?: string; constraints?: object },
): Promise<PublishedKey> {
  const { status, body } = await service.call('POST', '/api/v1/signing-keys', { key: apiKey, body: order });
  if (status !== 201) throw new Error(`no signing key was made: ${JSON.stringify(body)}`);
  return body;
}

/** Returns a key by name, in the API format. */
export async function publishedKey(service: Service, apiKey: string, name: string): Promise<PublishedKey> {
  const { body } = await service.call('GET', '/api/v1/signing-keys?limit=200', { key: apiKey });
  const key = (body.items as PublishedKey[]).find((item) => item.name === name);
  if (key === undefined) throw new Error(`no signing key ${name}: ${JSON.stringify(body)}`);
  return key;
}

/** Reports whether a DER or PKCS #1 v1.5 signature verifies for this message. */
export function verifies(message: string | Buffer, { publicKey }: PublishedKey, signature: Buffer): boolean {
  return verify('sha256', Buffer.from(message), createPublicKey(publicKey), signature);
}

/** Factor by which test time-outs are multiplied, because tests run in parallel on busy machines. */
export const TIMEOUT_FACTOR = 3;

/** Polls until `check` returns something other than undefined or false. Throws after `seconds` times TIMEOUT_FACTOR. */
export async function until<T>(
  what: string,
  seconds: number,
  check: () => Promise<T | undefined | false>,
  everyMs = 50,
): Promise<T> {
  const deadline = Date.now() + seconds * TIMEOUT_FACTOR * 1000;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${seconds * TIMEOUT_FACTOR} seconds`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
