import { constants, createPublicKey, type KeyObject, publicDecrypt } from 'node:crypto';
import type { DigestAlgorithm } from '../key-vault.js';
import { digestInfo } from '../../formats/asn1/digest-info.js';
import { verifyPss } from './rsa-encodings.js';

const KEYS_KEPT = 1000;

/** RsaCheck verifies RSA signatures outside the token, which also detects a token that computes incorrectly. Each public key is parsed only once. */
export class RsaCheck {
  private readonly keys = new Map<string, KeyObject>();

  /** Returns the bit length of the modulus in a SubjectPublicKeyInfo. Throws RangeError if the key is not an RSA key. */
  modulusBits(publicKey: Buffer): number {
    return this.key(publicKey).asymmetricKeyDetails?.modulusLength ?? 0;
  }

  /** Verifies RSASSA-PKCS1-v1_5 (RFC 8017 section 8.2.2): the public operation must return exactly the DigestInfo that was signed. */
  pkcs1(publicKey: Buffer, algorithm: DigestAlgorithm, digest: Buffer, signature: Buffer): boolean {
    const recovered = this.publicOperation(publicKey, signature, constants.RSA_PKCS1_PADDING);
    return recovered?.equals(digestInfo(algorithm, digest)) ?? false;
  }

  /** Verifies RSASSA-PSS (RFC 8017 section 8.1.2) with MGF1 over the same digest and a salt as long as the digest. */
  pss(publicKey: Buffer, algorithm: DigestAlgorithm, digest: Buffer, signature: Buffer): boolean {
    const encoded = this.publicOperation(publicKey, signature, constants.RSA_NO_PADDING);
    return encoded !== undefined && verifyPss(algorithm, digest, encoded, this.modulusBits(publicKey));
  }

  private publicOperation(publicKey: Buffer, signature: Buffer, padding: number): Buffer | undefined {
    const key = this.key(publicKey);
    // RFC 8017 requires a signature as long as the modulus (step 1 of both sections), but publicDecrypt also accepts a signature without its leading zeros.
    if (signature.length !== Math.ceil(this.modulusBits(publicKey) / 8)) return undefined;
    try {
      return publicDecrypt({ key, padding }, signature);
    } catch {
      return undefined;
    }
  }

  private key(publicKey: Buffer): KeyObject {
    const name = publicKey.toString('latin1');
    const known = this.keys.get(name);
    if (known) return known;
    const key = readRsaKey(publicKey);
    if (this.keys.size >= KEYS_KEPT) this.keys.clear();
    this.keys.set(name, key);
    return key;
  }
}

function readRsaKey(publicKey: Buffer): KeyObject {
  try {
    const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // The error below covers malformed keys and other key types.
  }
  throw new RangeError('the stored public key is not an RSA key');
}
