import { createHash } from 'node:crypto';
import type { KeyType, SignatureScheme } from '../../hsm/key-vault.js';
import type { FormatDigest } from './algorithm-identifiers.js';
import { type FormatOrder, isRsa, type SignatureFormatWriter } from './signature-format.js';

const BITS: Record<FormatDigest, string> = { sha256: '256', sha384: '384', sha512: '512' };
/** JWS digest for each curve (RFC 7518 section 3.4). */
const OF_CURVE: Partial<Record<KeyType, FormatDigest>> = {
  'ec-p256': 'sha256',
  'ec-p384': 'sha384',
  'ec-p521': 'sha512',
};

/**
 * Detached JWS in compact form (RFC 7515 appendix F) with an unencoded payload (RFC 7797). The payload is the binary hash value of the file, because
 * a service that receives only a digest cannot sign anything longer.
 */
export const jws: SignatureFormatWriter = {
  needsCertificate: false,
  schemes: (type) => (isRsa(type) ? ['rsa-pkcs1v15', 'rsa-pss'] : ['ecdsa-raw']),
  toBeSigned(order) {
    const header = Buffer.from(JSON.stringify(headerOf(order))).toString('base64url');
    return Buffer.concat([Buffer.from(`${header}.`), order.digest]);
  },
  assemble(_order, toBeSigned = Buffer.alloc(0), { signature }) {
    const header = toBeSigned.subarray(0, toBeSigned.indexOf('.')).toString();
    return Buffer.from(`${header}..${signature.toString('base64url')}`);
  },
};

/** Returns the digest that a JWS must use with this type of key; undefined if any digest is allowed. */
export function digestOfCurve(type: KeyType): FormatDigest | undefined {
  return OF_CURVE[type];
}

function headerOf({ algorithm, scheme, keyName, chain: [leaf] }: FormatOrder) {
  const thumbprint = leaf === undefined ? undefined : createHash('sha256').update(leaf).digest('base64url');
  return {
    alg: scheme === 'ml-dsa' ? undefined : `${PREFIX[scheme]}${BITS[algorithm]}`,
    kid: keyName,
    'x5t#S256': thumbprint,
    b64: false,
    crit: ['b64'],
  };
}

const PREFIX: Record<Exclude<SignatureScheme, 'ml-dsa'>, string> = {
  'rsa-pkcs1v15': 'RS',
  'rsa-pss': 'PS',
  'ecdsa-raw': 'ES',
  'ecdsa-der': 'ES',
};
