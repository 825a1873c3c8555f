import { createPrivateKey, createPublicKey, generateKeyPair, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import type { KeyIdentity, TokenKey, GeneratedKey, MlDsaType } from '../key-vault.js';
import { labelsOf } from './key-directory.js';
import { KeyProcessFault } from './key-process-fault.js';
import type { Pkcs11Token } from './pkcs11-token.js';
import type { TokenSealer } from './token-sealer.js';

const generatePair = promisify(generateKeyPair);
const signAsync = promisify(
  (data: Buffer, key: Parameters<typeof sign>[2], done: (error: Error | null, signature: Buffer) => void) =>
    sign(null, data, key, done),
);

/** First byte of a sealed key that is bound to its purpose and owner. Earlier versions stored the sealer's output unchanged, with a first byte of 1. */
const BOUND = Buffer.from([2]);

export interface SealedSignOrder {
  readonly ckaId: Uint8Array;
  readonly identity: KeyIdentity;
  /** DER-encoded SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array;
  /** Private key, encrypted by the token, as returned by `generate`. */
  readonly sealed: Uint8Array;
  readonly message: Uint8Array;
  /** Context string (FIPS 204 section 5.2). */
  readonly context: Uint8Array;
}

/**
 * SoftwareKeys manages keys of types that the token does not support. The private key is generated in software and encrypted with a key in the token. The
 * plaintext exists only in this process, while a signature is computed. This protection is weaker than the protection of a key in the token, as recorded in the
 * key's evidence.
 */
export class SoftwareKeys {
  private readonly token: Pkcs11Token;
  private readonly sealer: TokenSealer;

  constructor(token: Pkcs11Token, sealer: TokenSealer) {
    this.token = token;
    this.sealer = sealer;
  }

  async generate({ ckaId, labels, type }: TokenKey & { readonly type: MlDsaType }): Promise<GeneratedKey> {
    const { publicKey, privateKey } = await generatePair(type);
    const plain = privateKey.export({ format: 'der', type: 'pkcs8' });
    try {
      const sealed = await this.sealer.seal({ plain, associatedData: placeOf(ckaId, labels[0]) });
      const { label, serial, model } = this.token.identity;
      return {
        publicKey: publicKey.export({ format: 'der', type: 'spki' }),
        sealed: Buffer.concat([BOUND, sealed]),
        evidence: {
          tokenLabel: label,
          tokenSerial: serial,
          tokenModel: model,
          local: false,
          sensitive: false,
          extractable: true,
          alwaysSensitive: false,
          neverExtractable: false,
        },
      };
    } finally {
      plain.fill(0);
    }
  }

  /** Signs with ML-DSA (FIPS 204 section 5.2). The signature is returned only if it verifies with the stored public key. */
  async sign({ ckaId, identity, publicKey, sealed, message: given, context: bound }: SealedSignOrder): Promise<Buffer> {
    const isBound = sealed[0] === BOUND[0];
    const plain = await this.sealer.unseal({
      sealed: isBound ? sealed.subarray(1) : sealed,
      associatedData: placeOf(ckaId, isBound ? labelsOf(identity)[0] : ''),
    });
    try {
      const key = createPrivateKey({ key: plain, format: 'der', type: 'pkcs8' });
      const [message, context] = [Buffer.from(given), Buffer.from(bound)];
      const signature = await signAsync(message, { key, context });
      const stored = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
      if (verify(null, message, { key: stored, context }, signature)) return signature;
    } finally {
      plain.fill(0);
    }
    throw new KeyProcessFault('wrong-signature', 'a signature did not verify with the stored public key');
  }
}

/** Returns the associated data of a sealed key: its CKA_ID and, for keys marked BOUND, the label that a key in the token would have. */
function placeOf(ckaId: Uint8Array, label: string): Buffer {
  const place = `software key\0${Buffer.from(ckaId).toString('hex')}`;
  return Buffer.from(label === '' ? place : `${place}\0${label}`);
}
