import { hash } from 'node:crypto';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import type { ActiveKey } from './signing-key.reader.js';

/** Facts about a key in the audit log, so that evidence cannot present a different key. */
export interface SigningKeyFacts {
  /** SHA-256 of the SubjectPublicKeyInfo, DER; base64. */
  readonly publicKeySha256: string;
  /** SHA-256 of the private key's attributes, as reported by the token, in canonical JSON; base64. */
  readonly attributesSha256: string;
}

const known = new WeakMap<ActiveKey, SigningKeyFacts>();

export function keyFactsOf(key: ActiveKey): SigningKeyFacts {
  const before = known.get(key);
  if (before !== undefined) return before;
  const { publicKey, evidence } = key;
  const facts = {
    publicKeySha256: hash('sha256', publicKey, 'base64'),
    attributesSha256: hash('sha256', canonicalJson(evidence ?? {}), 'base64'),
  };
  known.set(key, facts);
  return facts;
}
