import { createHash, createPublicKey } from 'node:crypto';
import { type DsseEnvelope, SIGSTORE_BUNDLE } from '../../formats/encoding/dsse.js';
import type { FormatDigest } from './algorithm-identifiers.js';
import { integer, sequence } from '../../formats/asn1/der-writer.js';
import { isRsa, type SignatureFormatWriter, type FormatOrder } from './signature-format.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';

const HASH_NAME: Record<FormatDigest, string> = { sha256: 'SHA2_256', sha384: 'SHA2_384', sha512: 'SHA2_512' };

/** Sigstore bundle v0.3 with a message signature. A hint identifies the key: the SHA-256 of its SubjectPublicKeyInfo. */
export const sigstoreBundle: SignatureFormatWriter = {
  needsCertificate: false,
  schemes: (type) => (isRsa(type) ? ['rsa-pkcs1v15'] : ['ecdsa-der']),
  toBeSigned: () => undefined,
  record: hashedrekord,
  assemble({ algorithm, digest, publicKey }, _toBeSigned, { signature, timestampToken }) {
    const messageSignature = {
      messageDigest: { algorithm: HASH_NAME[algorithm], digest: digest.toString('base64') },
      signature: signature.toString('base64'),
    };
    return bundleBytes(publicKey, { messageSignature }, timestampToken);
  },
};

/** Returns a Sigstore bundle v0.3 with a DSSE envelope. */
export function dsseBundle({ publicKey }: FormatOrder, dsseEnvelope: DsseEnvelope, timestampToken?: Buffer): Buffer {
  return bundleBytes(publicKey, { dsseEnvelope }, timestampToken);
}

function bundleBytes(publicKey: Buffer, content: object, timestampToken: Buffer | undefined): Buffer {
  const hint = createHash('sha256').update(publicKey).digest('base64');
  const stamps = timestampToken === undefined ? [] : [{ signedTimestamp: granted(timestampToken).toString('base64') }];
  const bundle = {
    mediaType: SIGSTORE_BUNDLE,
    verificationMaterial: {
      publicKey: { hint },
      tlogEntries: [],
      timestampVerificationData: { rfc3161Timestamps: stamps },
    },
    ...content,
  };
  return Buffer.from(JSON.stringify(bundle));
}

/** Wraps a token in a TimeStampResp with status granted (RFC 3161 section 2.4.2), because bundles contain the whole response. */
function granted(token: Buffer): Buffer {
  return sequence(sequence(integer(0)), token);
}

const HASHEDREKORD = { kind: 'hashedrekord', version: '0.0.1' };

/**
 * Returns the record of a signature in the format of Rekor's `hashedrekord` 0.0.1, as canonical JSON. Sigstore verifiers look the record up in a transparency
 * log. `signature` is the signature from the HSM.
 */
function hashedrekord({ algorithm, digest, publicKey }: FormatOrder, signature: Buffer): string {
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
