import { createPublicKey } from 'node:crypto';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import type { FormatOrder } from './signature-format.js';

export const HASHEDREKORD = { kind: 'hashedrekord', version: '0.0.1' };

/**
 * The record of a signature in the shape of Rekor's `hashedrekord` 0.0.1, as canonical JSON: what Sigstore's verifiers
 * look for in a transparency log. `signature` is what the HSM made.
 */
export function hashedrekord({ algorithm, digest, publicKey }: FormatOrder, signature: Buffer): string {
  const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
  const pem = key.export({ format: 'pem', type: 'spki' }).toString();
  return canonicalJson({
    apiVersion: HASHEDREKORD.version,
    kind: HASHEDREKORD.kind,
    spec: {
      data: { hash: { algorithm, value: digest.toString('hex') } },
      signature: {
        content: signature.toString('base64'),
        publicKey: { content: Buffer.from(pem).toString('base64') },
      },
    },
  });
}
