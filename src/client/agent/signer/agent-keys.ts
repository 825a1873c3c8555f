import { createPublicKey, X509Certificate } from 'node:crypto';
import type { ApiClient } from '../../api/api-client.js';
import { keyNamed, type ListedKey, listSigningKeys } from '../../api/signing-keys.js';
import { ClientError, EXIT, usageError } from '../../api/exit-codes.js';
import { expiryOf, expiryWarning } from './key-certificates.js';
import { keySigns, type Protocol, type AgentPurpose, purposesOf, serves } from './purposes.js';

/** A key of the service as a local protocol offers it: the version that signs now. */
export interface AgentKey {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  /** `rsa-2048`, `ec-p256` and so on. */
  readonly type: string;
  readonly purpose: string;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  /** DER, the certificate of the key first; empty when it has none. */
  readonly chain: readonly Buffer[];
}

interface Wanted {
  readonly protocol: Protocol;
  readonly purpose: AgentPurpose;
  /** Names of the keys that are offered; undefined offers all that the caller may see. */
  readonly names?: readonly string[] | undefined;
  /** Tells the person at the terminal about certificates that expire soon, and about keys left out because theirs have expired. */
  note?(line: string): void;
}

/** Programs read every object of a token; and each key takes a call for its certificate. */
const MAX_KEYS = 50;
const LOCAL_TYPES = /^(?:rsa|ec)-/;

/**
 * Reads the keys that are to be offered, with their certificates.
 *
 * @throws ClientError (usage) when a key that was named is not there, does not sign, or is for another purpose; ClientError when the
 * certificate of one has expired
 */
export async function readAgentKeys(api: ApiClient, { protocol, purpose, names, note }: Wanted): Promise<AgentKey[]> {
  if (!serves(protocol, purpose))
    throw usageError(`${protocol} is not for ${purpose}, but for ${purposesOf(protocol).join(', ')}.`);
  const listed = await listSigningKeys(api);
  const offered =
    names?.map((name) => named(listed, name, purpose)) ??
    listed.filter((key) => isOffered(key) && keySigns(key.purpose, purpose));
  if (offered.length > MAX_KEYS) throw usageError(`You can use more than ${MAX_KEYS} keys: name the ones you need.`);
  if (offered.length === 0) throw new ClientError(EXIT.failed, `You can use no key for ${purpose}.`);
  const keys = await Promise.all(offered.map(async (key) => agentKeyOf(key, await chainOf(api, key))));
  return usesCertificate(purpose) ? withoutExpired(keys, names !== undefined, note) : keys;
}

/** Logins by SSH go by the key alone, whatever certificate it has. */
export function usesCertificate(purpose: AgentPurpose): boolean {
  return purpose !== 'ssh-login' && purpose !== 'ssh-signatures';
}

/** A key that was named must be usable; of those that were not, the others are offered. */
function withoutExpired(keys: readonly AgentKey[], isNamed: boolean, note: Wanted['note']): AgentKey[] {
  const usable = keys.filter((key) => {
    const expired = expiryOf(key);
    if (expired !== undefined && isNamed) throw new ClientError(EXIT.failed, expired);
    const said = expired === undefined ? expiryWarning(key) : `sealwright: left out: ${expired}`;
    if (said !== undefined) note?.(said);
    return expired === undefined;
  });
  if (usable.length > 0) return usable;
  throw new ClientError(
    EXIT.failed,
    'The certificates of all keys that you can use have expired. [certificate.expired]',
  );
}

function isOffered({ state, type, publicKey }: ListedKey): boolean {
  return state === 'ACTIVE' && LOCAL_TYPES.test(type) && publicKey !== undefined;
}

function named(listed: readonly ListedKey[], name: string, purpose: AgentPurpose): ListedKey {
  const key = keyNamed(listed, name);
  if (!isOffered(key)) throw usageError(`The key "${name}" (${key.type}, ${key.state}) cannot sign here.`);
  if (keySigns(key.purpose, purpose)) return key;
  throw usageError(`The key "${name}" is for ${key.purpose}, not for ${purpose}: name another key, or --purpose.`);
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
 * Keys for any of the purposes that a protocol serves, without their certificates: those that are named, or all.
 *
 * @throws ClientError (usage) when a name stands for no key; a key for another protocol is left out
 */
export async function readKeysFor(api: ApiClient, protocol: Protocol, names?: readonly string[]): Promise<AgentKey[]> {
  const purposes = purposesOf(protocol);
  const isServed = (key: ListedKey): boolean => purposes.some((purpose) => keySigns(key.purpose, purpose));
  const listed = await listSigningKeys(api);
  const wanted = names?.map((name) => keyNamed(listed, name)) ?? listed;
  return wanted.filter((key) => isOffered(key) && isServed(key)).map((key) => agentKeyOf(key, []));
}
