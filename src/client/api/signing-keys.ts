import type { ApiClient } from './api-client.js';
import { usageError } from './exit-codes.js';
import { listAll } from './pages.js';

/** ListedKey is a signing key in a list of the service. */
export interface ListedKey {
  readonly id: string;
  readonly name: string;
  /** Key type, such as `rsa-2048` or `ec-p256`. */
  readonly type: string;
  readonly purpose: string;
  readonly version: number;
  readonly state: string;
  /** Public key of the current version in PEM. */
  readonly publicKey?: string;
  readonly certificateId?: string;
  readonly certificateExpiresAt?: string;
}

/** Returns the signing keys that the caller can see and that match the filter, such as `{ state: 'ACTIVE' }`. */
export function listSigningKeys(api: ApiClient, filter: Readonly<Record<string, string>> = {}): Promise<ListedKey[]> {
  return listAll(api, '/api/v1/signing-keys', filter);
}

/**
 * Returns the key with this name or ID.
 *
 * @throws ClientError (usage) if there is no such key
 */
export async function signingKeyNamed(api: ApiClient, name: string): Promise<ListedKey> {
  return keyNamed(await listSigningKeys(api), name);
}

/**
 * Returns the key with this name or ID from a list.
 *
 * @throws ClientError (usage) if there is no such key
 */
export function keyNamed(listed: readonly ListedKey[], name: string): ListedKey {
  const key = listed.find((one) => one.name === name || one.id === name);
  if (key === undefined) throw usageError(`Signing key "${name}" does not exist, or you have no access to it.`);
  return key;
}
