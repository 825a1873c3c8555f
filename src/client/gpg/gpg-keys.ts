import { createPublicKey } from 'node:crypto';
import type { ApiClient } from '../api/api-client.js';
import { listAll } from '../api/pages.js';
import type { AgentKey } from '../agent/signer/agent-keys.js';

/** GpgKey is a signing key with its OpenPGP certificate, as returned by the service. */
export interface GpgKey {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly version: number;
  /** Fingerprint in hexadecimal, in upper case. */
  readonly fingerprint: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  readonly revoked: boolean;
  /** Certified user IDs. */
  readonly userIds: readonly string[];
  /** Armored OpenPGP certificate. */
  readonly certificate: string;
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly version: number;
  readonly fingerprint: string;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly userIds: readonly { readonly userId: string; readonly status: string }[];
  readonly revocation?: { readonly status: string };
  readonly certificate?: string;
}

/** Returns the keys with complete certificates, newest first. */
export async function readGpgKeys(api: ApiClient): Promise<GpgKey[]> {
  return (await listAll<Listed>(api, '/api/v1/openpgp-certificates')).flatMap(keyOf);
}

function keyOf({ certificate, userIds, revocation, createdAt, expiresAt, ...key }: Listed): GpgKey[] {
  if (certificate === undefined) return [];
  return [
    {
      ...key,
      certificate,
      createdAt: new Date(createdAt),
      expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt),
      revoked: revocation?.status === 'SIGNED',
      userIds: userIds.filter(({ status }) => status === 'SIGNED').map(({ userId }) => userId),
    },
  ];
}

/** Returns the 64-bit key ID in gpg's notation. */
export function keyIdOf({ fingerprint }: GpgKey): string {
  return fingerprint.slice(-16);
}

const HEXADECIMAL = /^(?:0x)?([0-9a-fA-F]{8}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40})!?$/;

/** Fingerprint in groups, as shown by gpg. */
const GROUPED = /^(?:[0-9a-fA-F]{2,4} {1,2}){9,19}[0-9a-fA-F]{2,4} *$/;

/**
 * gpgKeysNamed returns the keys that gpg would match by a name (manual, "How to specify a user ID"): fingerprint or key ID, `<address>`, `=user id`, or part of
 * a user ID. The name or ID of a signing key of the service takes precedence. An empty name, for example from an unset variable, matches no key.
 */
export function gpgKeysNamed(keys: readonly GpgKey[], name: string): GpgKey[] {
  if (name.trim() === '') return [];
  const own = keys.filter((key) => key.name === name || key.id === name);
  if (own.length > 0) return own;
  const hexadecimal = HEXADECIMAL.exec(GROUPED.test(name) ? name.replaceAll(' ', '') : name)?.[1]?.toUpperCase();
  if (hexadecimal !== undefined) return keys.filter(({ fingerprint }) => fingerprint.endsWith(hexadecimal));
  if (name.startsWith('=')) return keys.filter(({ userIds }) => userIds.includes(name.slice(1)));
  const part = name.replace(/^\*/, '').toLowerCase();
  return keys.filter(({ userIds }) => userIds.some((userId) => userId.toLowerCase().includes(part)));
}

/** Converts a key to an AgentKey, which the signer identifies by its ID in the service. */
export function agentKeyOf({ id, name, version, type }: GpgKey, publicKeyPem: string): AgentKey {
  const publicKey = createPublicKey(publicKeyPem).export({ type: 'spki', format: 'der' });
  return { id, name, version, type, purpose: 'openpgp', publicKey, chain: [] };
}
