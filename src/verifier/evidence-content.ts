import { constants, createHash, createPublicKey, createVerify } from 'node:crypto';
import { base64Bytes } from '../formats/encoding/base64.js';
import { verifiesMlDsa } from './digest-signature.js';
import type { EvidenceFile } from './evidence-file.js';

/**
 * EvidenceContent checks the signed file, in chunks, against its evidence. Only raw signatures are verified. For the other formats, use the tool for the
 * format (openssl, osslsigncode, jose, cosign); this class compares the digest, except for Authenticode.
 */
export class EvidenceContent {
  private readonly digest;
  private readonly verification;

  constructor(private readonly evidence: EvidenceFile) {
    const { algorithm, scheme, format } = evidence.request;
    this.digest = createHash(algorithm);
    this.verification = format === 'raw' && scheme !== 'ml-dsa' ? createVerify(algorithm) : undefined;
  }

  update(piece: Buffer): this {
    this.digest.update(piece);
    this.verification?.update(piece);
    return this;
  }

  /** Returns the faults. Call this method after the last chunk. */
  faults(): string[] {
    const { format } = this.evidence.request;
    const digest = this.digest.digest();
    if (format === 'authenticode')
      return [
        'an Authenticode signature covers parts of its file: verify the signed file with osslsigncode, without --content',
      ];
    if (digest.toString('base64') !== this.evidence.request.digest) return ['the signature is for a different file'];
    if (format !== 'raw') return [];
    return this.holds(digest) ? [] : ['the signature does not verify with the key'];
  }

  private holds(digest: Buffer): boolean {
    const { algorithm, scheme, signature: encoded = '' } = this.evidence.request;
    const key = createPublicKey(this.evidence.key.publicKey);
    const signature = base64Bytes(encoded);
    if (this.verification === undefined) return verifiesMlDsa(key, { algorithm, digest, signature });
    const options = {
      key,
      ...(scheme === 'ecdsa-raw' ? { dsaEncoding: 'ieee-p1363' as const } : {}),
      ...(scheme === 'rsa-pss' ? { padding: constants.RSA_PKCS1_PSS_PADDING } : {}),
    };
    return this.verification.verify(options, signature);
  }
}
