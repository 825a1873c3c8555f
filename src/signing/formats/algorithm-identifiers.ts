import {
  type DigestAlgorithm,
  isMlDsa,
  type KeyType,
  type MlDsaType,
  type SignatureScheme,
} from '../../hsm/key-vault.js';
import { integer, nullValue, oid, sequence, tagged } from '../../formats/asn1/der-writer.js';

/** Digests that certificates, CMS, JWS and Sigstore bundles can identify and that verifiers support. */
export const FORMAT_DIGESTS = ['sha256', 'sha384', 'sha512'] as const satisfies readonly DigestAlgorithm[];
export type FormatDigest = (typeof FORMAT_DIGESTS)[number];

export function isFormatDigest(algorithm: DigestAlgorithm): algorithm is FormatDigest {
  return (FORMAT_DIGESTS as readonly string[]).includes(algorithm);
}

/** Object identifiers of the SHA-2 digests (RFC 5754 section 2). */
export const DIGEST_OID: Record<FormatDigest, string> = {
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
};

const RSA_ENCRYPTION = '1.2.840.113549.1.1.1';
const RSASSA_PSS = '1.2.840.113549.1.1.10';
const MGF1 = '1.2.840.113549.1.1.8';
const WITH_RSA: Record<FormatDigest, string> = {
  sha256: '1.2.840.113549.1.1.11',
  sha384: '1.2.840.113549.1.1.12',
  sha512: '1.2.840.113549.1.1.13',
};
const WITH_ECDSA: Record<FormatDigest, string> = {
  sha256: '1.2.840.10045.4.3.2',
  sha384: '1.2.840.10045.4.3.3',
  sha512: '1.2.840.10045.4.3.4',
};
/** Object identifiers of the ML-DSA key types (RFC 9881 section 2). */
const ML_DSA: Record<MlDsaType, string> = {
  'ml-dsa-44': '2.16.840.1.101.3.4.3.17',
  'ml-dsa-65': '2.16.840.1.101.3.4.3.18',
  'ml-dsa-87': '2.16.840.1.101.3.4.3.19',
};
const DIGEST_BYTES: Record<FormatDigest, number> = { sha256: 32, sha384: 48, sha512: 64 };

/** Returns the AlgorithmIdentifier of a digest, with absent parameters (RFC 5754 section 2). */
export const digestIdentifier = (digest: FormatDigest): Buffer => sequence(oid(DIGEST_OID[digest]));

/**
 * Returns the AlgorithmIdentifier of a signature in CMS. RSA PKCS #1 v1.5 uses rsaEncryption, which every verifier accepts (RFC 3370 section 3.2). RSASSA-PSS
 * uses id-RSASSA-PSS with parameters (RFC 4056), and ECDSA uses ecdsa-with-SHA2 (RFC 5754 section 3.3). ML-DSA uses the identifier of the key type (RFC
 * 9882), which requires `type`.
 */
export function cmsSignatureIdentifier(scheme: SignatureScheme, digest: FormatDigest, type?: KeyType): Buffer {
  if (scheme === 'rsa-pkcs1v15') return sequence(oid(RSA_ENCRYPTION), nullValue);
  return signatureIdentifier(scheme, digest, type);
}

/** Returns the AlgorithmIdentifier of a signature in certificates and certification requests (RFC 4055, RFC 5758, RFC 9881). */
export function signatureIdentifier(scheme: SignatureScheme, digest: FormatDigest, type?: KeyType): Buffer {
  switch (scheme) {
    case 'rsa-pkcs1v15':
      return sequence(oid(WITH_RSA[digest]), nullValue);
    case 'rsa-pss':
      return sequence(oid(RSASSA_PSS), pssParameters(digest));
    case 'ecdsa-der':
    case 'ecdsa-raw':
      return sequence(oid(WITH_ECDSA[digest]));
    case 'ml-dsa':
      if (type === undefined || !isMlDsa(type))
        throw new RangeError('ML-DSA algorithm identifiers depend on the key type');
      return sequence(oid(ML_DSA[type]));
  }
}

/** Returns RSASSA-PSS-params (RFC 4055 section 3.1): the digest, MGF1 with the same digest, and a salt as long as the digest. */
function pssParameters(digest: FormatDigest): Buffer {
  const hash = sequence(oid(DIGEST_OID[digest]), nullValue);
  return sequence(tagged(0, hash), tagged(1, sequence(oid(MGF1), hash)), tagged(2, integer(DIGEST_BYTES[digest])));
}
