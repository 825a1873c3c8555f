import { createHash, createPublicKey } from 'node:crypto';
import { canonicalJson } from '../platform/json/canonical-json.js';
import type { EvidenceFile } from './evidence-file.js';

/** What the log says of the key of a request: SHA-256, base64. An earlier version of the service said none of it. */
export const KEY_FACTS = ['publicKeySha256', 'attributesSha256'] as const;

const MEANINGS: Record<(typeof KEY_FACTS)[number], string> = {
  publicKeySha256: 'which public key was used',
  attributesSha256: 'what the token says of the private key',
};

/** The key in the file against what the log says of it. */
export function faultsOfKey({ key }: EvidenceFile, logged: Record<string, unknown>): string[] {
  const found = {
    publicKeySha256: sha256(createPublicKey(key.publicKey).export({ format: 'der', type: 'spki' })),
    attributesSha256: sha256(canonicalJson(key.attributes ?? {})),
  };
  const faults = {
    publicKeySha256: 'the log has another public key',
    attributesSha256: 'the log has other attributes of the key',
  };
  return KEY_FACTS.flatMap((name) =>
    logged[name] === undefined || logged[name] === found[name] ? [] : [faults[name]],
  );
}

/** What the log of an earlier version does not say, so that the file alone says it. */
export function unsaidOfKey(logged: Record<string, unknown>): string[] {
  return KEY_FACTS.flatMap((name) => (logged[name] === undefined ? [`the log does not say ${MEANINGS[name]}`] : []));
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('base64');
}
