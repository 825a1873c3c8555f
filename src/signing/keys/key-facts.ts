import { createHash } from 'node:crypto';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import type { ActiveKey } from './signing-key.reader.js';

/** What the audit log says of a key that is to sign, so that evidence cannot show another: SHA-256, base64. */
export interface SigningKeyFacts {
  /** Of the SubjectPublicKeyInfo, DER. */
  readonly publicKeySha256: string;
  /** Of what the token said of the private key, as canonical JSON. */
  readonly attributesSha256: string;
}

const known = new WeakMap<ActiveKey, SigningKeyFacts>();

export function keyFactsOf(key: ActiveKey): SigningKeyFacts {
  const before = known.get(key);
  if (before !== undefined) return before;
  const { publicKey, evidence } = key;
  const facts = { publicKeySha256: sha256(publicKey), attributesSha256: sha256(canonicalJson(evidence ?? {})) };
  known.set(key, facts);
  return facts;
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('base64');
}
