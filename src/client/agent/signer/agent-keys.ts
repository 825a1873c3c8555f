import { createPublicKey, X509Certificate } from 'node:crypto';
import type { ApiClient } from '../../api/api-client.js';
import { keyNamed, type ListedKey, listSigningKeys } from '../../api/signing-keys.js';
import { ClientError, EXIT, usageError } from '../../api/exit-codes.js';
import { expiryOf, expiryWarning } from './key-certificates.js';
import { keySigns, type Protocol, type AgentPurpose, purposesOf, serves } from './purposes.js';

/** AgentKey is the current version of one of the service's signing keys, as offered by a local protocol. */
export interface AgentKey {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  /** Key type, such as `rsa-2048` or `ec-p256`. */
  readonly type: string;
  readonly purpose: string;
  /** Public key as SubjectPublicKeyInfo in DER. */
  readonly publicKey: Buffer;
  /** Certificate chain in DER, starting with the key's certificate. Empty if the key has no certificate. */
  readonly chain: readonly Buffer[];
}

interface Wanted {
  readonly protocol: Protocol;
  readonly purpose: AgentPurpose;
  /** Names of the keys to offer. Defaults to all keys that the caller can see. */
  readonly names?: readonly string[] | undefined;
  /** Prints warnings about certificates that expire soon, and about keys omitted because their certificates have expired. */
  note?(line: string): void;
}

/** Maximum number of offered keys. Programs read every object of a token, and the certificate of each key requires a call to the service. */
const MAX_KEYS = 50;
const LOCAL_TYPES = /^(?:rsa|ec)-/;

/**
 * readAgentKeys reads the keys to offer, with their certificates.
 *
 * @throws ClientError (usage) if a named key does not exist, cannot sign, or has another purpose; ClientError if the certificate of a named key has expired
 */
export async function readAgentKeys(api: ApiClient, { protocol, purpose, names, note }: Wanted): Promise<AgentKey[]> {
  if (!serves(protocol, purpose))
    throw usageError(`${protocol} does not support purpose ${purpose}. Supported: ${purposesOf(protocol).join(', ')}.`);
  const listed = await listSigningKeys(api);
  const offered =
    names?.map((name) => named(listed, name, purpose)) ??
    listed.filter((key) => isOffered(key) && keySigns(key.purpose, purpose));
  if (offered.length > MAX_KEYS)
    throw usageError(`You have access to more than ${MAX_KEYS} keys. Specify the keys to use.`);
  if (offered.length === 0) throw new ClientError(EXIT.failed, `You have no access to a key for ${purpose}.`);
  const keys = await Promise.all(offered.map(async (key) => agentKeyOf(key, await chainOf(api, key))));
  return usesCertificate(purpose) ? withoutExpired(keys, names !== undefined, note) : keys;
}

/** Reports whether verifiers of signatures with this purpose rely on the key's certificate. In SSH, verifiers use only the key. */
export function usesCertificate(purpose: AgentPurpose): boolean {
  return purpose !== 'ssh-login' && purpose !== 'ssh-signatures';
}

/** Omits keys with expired certificates. Throws if a named key has an expired certificate. */
function withoutExpired(keys: readonly AgentKey[], isNamed: boolean, note: Wanted['note']): AgentKey[] {
  const usable = keys.filter((key) => {
    const expired = expiryOf(key);
    if (expired !== undefined && isNamed) throw new ClientError(EXIT.failed, expired);
    const said = expired === undefined ? expiryWarning(key) : `sealwright: skipped: ${expired}`;
    if (said !== undefined) note?.(said);
    return expired === undefined;
  });
  if (usable.length > 0) return usable;
  throw new ClientError(
    EXIT.failed,
    'All keys to which you have access have expired certificates. [certificate.expired]',
  );
}

function isOffered({ state, type, publicKey }: ListedKey): boolean {
  return state === 'ACTIVE' && LOCAL_TYPES.test(type) && publicKey !== undefined;
}

function named(listed: readonly ListedKey[], name: string, purpose: AgentPurpose): ListedKey {
  const key = keyNamed(listed, name);
  if (!isOffered(key)) throw usageError(`Key "${name}" (${key.type}, ${key.state}) cannot be used here.`);
  if (keySigns(key.purpose, purpose)) return key;
  throw usageError(`Key "${name}" is for ${key.purpose}, not for ${purpose}. Specify another key, or set --purpose.`);
}

function agentKeyOf({ id, name, version, type, purpose, publicKey = '' }: ListedKey, chain: Buffer[]): AgentKey {
  const spki = createPublicKey(publicKey).export({ type: 'spki', format: 'der' });
  return { id, name, version, type, purpose, publicKey: spki, chain };
}

async function chainOf(api: ApiClient, { certificateId }: ListedKey): Promise<Buffer[]> {
  if (certificateId === undefined) return [];
  const { chain }: { chain: string[] } = await api.call('GET', `/api/v1/certificates/${certificateId}`);
  return chain.map((pem) => new X509Certificate(pem).raw);
}

/**
 * readKeysFor reads the named keys, or all keys, that serve any purpose of a protocol, without certificates. Keys for other protocols are omitted.
 *
 * @throws ClientError (usage) if a name matches no key
 */
export async function readKeysFor(api: ApiClient, protocol: Protocol, names?: readonly string[]): Promise<AgentKey[]> {
  const purposes = purposesOf(protocol);
  const isServed = (key: ListedKey): boolean => purposes.some((purpose) => keySigns(key.purpose, purpose));
  const listed = await listSigningKeys(api);
  const wanted = names?.map((name) => keyNamed(listed, name)) ?? listed;
  return wanted.filter((key) => isOffered(key) && isServed(key)).map((key) => agentKeyOf(key, []));
}
