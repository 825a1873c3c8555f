import { isMlDsa, type KeyType } from '../../hsm/key-vault.js';
import { FORMAT_DIGESTS, type FormatDigest } from './algorithm-identifiers.js';
import { oid, sequence } from '../../formats/asn1/der-writer.js';
import { isRsa, type SignatureFormatWriter } from './signature-format.js';
import {
  attribute,
  contentType,
  messageDigest,
  signedAttributes,
  signedData,
  signingTime,
  TIMESTAMP_TOKEN,
} from './signed-data.js';
import { signingCertificate } from './signing-certificate.js';

const DATA = '1.2.840.113549.1.7.1';

/** Returns the supported digests: for ML-DSA, the digests at least as strong as the key (RFC 9882 section 3.3); otherwise FORMAT_DIGESTS. */
export function digestsForCms(type: KeyType): readonly FormatDigest[] {
  if (type === 'ml-dsa-65') return ['sha384', 'sha512'];
  return type === 'ml-dsa-87' ? ['sha512'] : FORMAT_DIGESTS;
}

/**
 * Detached CMS (RFC 5652) with signed attributes, as CAdES-BES requires (ETSI EN 319 122-1): the input of `openssl cms -verify` and, over the digest of a .SF
 * file, the signature block of a JAR. With a timestamp, the signature is CAdES-T.
 */
export const cms: SignatureFormatWriter = {
  needsCertificate: true,
  schemes: (type) => (isMlDsa(type) ? ['ml-dsa'] : isRsa(type) ? ['rsa-pkcs1v15', 'rsa-pss'] : ['ecdsa-der']),
  toBeSigned({ digest, chain: [leaf = Buffer.alloc(0)] }, at) {
    return signedAttributes(contentType(DATA), messageDigest(digest), signingTime(at), signingCertificate(leaf));
  },
  assemble({ algorithm, scheme, keyType, chain }, attributes = Buffer.alloc(0), { signature, timestampToken }) {
    return signedData({
      version: 1,
      algorithm,
      scheme,
      keyType,
      content: sequence(oid(DATA)),
      certificates: chain,
      signer: chain[0] ?? Buffer.alloc(0),
      attributes,
      signature,
      unsignedAttributes: timestampToken === undefined ? [] : [attribute(TIMESTAMP_TOKEN, timestampToken)],
    });
  },
};
