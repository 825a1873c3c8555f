import { constants, createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { base64UrlBytes, fromBase64Url } from './base64.js';
import { readJsonObject } from '../../platform/json/strict-json.js';

/** PublicJwk contains the public members of a key (RFC 7517, RFC 7518 section 6, RFC 8037). */
export interface PublicJwk {
  readonly kty: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly crv?: string;
  readonly n?: string;
  readonly e?: string;
  readonly x?: string;
  readonly y?: string;
}

/** Members that identify a key, by type, in lexicographic order (RFC 7638 section 3.2, RFC 8037 section 2). */
const IDENTIFYING = { RSA: ['e', 'kty', 'n'], EC: ['crv', 'kty', 'x', 'y'], OKP: ['crv', 'kty', 'x'] } as const;

/** Returns the base64url thumbprint of a public key (RFC 7638, SHA-256). Undefined for a type without thumbprints or a key with a missing member. */
export function jwkThumbprint(jwk: PublicJwk): string | undefined {
  if (!Object.hasOwn(IDENTIFYING, jwk.kty)) return undefined;
  const names: readonly (keyof PublicJwk)[] = IDENTIFYING[jwk.kty as keyof typeof IDENTIFYING];
  const members = names.map((name) => [name, jwk[name]] as const);
  if (members.some(([, value]) => typeof value !== 'string')) return undefined;
  return createHash('sha256')
    .update(JSON.stringify(Object.fromEntries(members)))
    .digest('base64url');
}

interface JwsAlgorithm {
  readonly kty: 'RSA' | 'EC' | 'OKP';
  readonly hash?: 'sha256' | 'sha384' | 'sha512';
  readonly crv?: string;
  readonly isPss?: boolean;
}

/** RFC 7518 section 3.1, RFC 8037 section 3.1, RFC 9864. */
const JWS_ALGORITHMS: Readonly<Record<string, JwsAlgorithm>> = {
  RS256: { kty: 'RSA', hash: 'sha256' },
  RS384: { kty: 'RSA', hash: 'sha384' },
  RS512: { kty: 'RSA', hash: 'sha512' },
  PS256: { kty: 'RSA', hash: 'sha256', isPss: true },
  PS384: { kty: 'RSA', hash: 'sha384', isPss: true },
  PS512: { kty: 'RSA', hash: 'sha512', isPss: true },
  ES256: { kty: 'EC', hash: 'sha256', crv: 'P-256' },
  ES384: { kty: 'EC', hash: 'sha384', crv: 'P-384' },
  ES512: { kty: 'EC', hash: 'sha512', crv: 'P-521' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
  Ed25519: { kty: 'OKP', crv: 'Ed25519' },
};

interface DecodedJws {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Signing input (RFC 7515 section 5.1): the first two parts, unchanged. */
  readonly signingInput: string;
  readonly signature: Buffer;
}

/**
 * decodeJws splits a JWT in compact serialization (RFC 7515 section 7.1). The signature is not verified. Returns undefined for any other text, and for a
 * header or payload with a duplicate name (section 4, RFC 7519 section 4) or a number that cannot be represented exactly.
 */
export function decodeJws(token: string): DecodedJws | undefined {
  const parts = token.split('.');
  const [header = '', payload = '', signature = ''] = parts;
  const [first, second, third] = [objectIn(header), objectIn(payload), fromBase64Url(signature)];
  if (parts.length !== 3 || signature === '') return undefined;
  if (first === undefined || second === undefined || third === undefined) return undefined;
  return { header: first, payload: second, signingInput: `${header}.${payload}`, signature: third };
}

/** Reports whether the signature was made with this key. False for a header with `crit`, because no extension is supported (RFC 7515 section 4.1.11). */
export function isSignedByJwk({ header, signingInput, signature }: DecodedJws, jwk: PublicJwk): boolean {
  const alg = header['alg'];
  const known = typeof alg === 'string' && Object.hasOwn(JWS_ALGORITHMS, alg) ? JWS_ALGORITHMS[alg] : undefined;
  if (known === undefined || 'crit' in header || jwk.kty !== known.kty || (known.crv ?? jwk.crv) !== jwk.crv)
    return false;
  try {
    const key = createPublicKey({ key: jwk as unknown as JsonWebKey, format: 'jwk' });
    const padding = known.isPss === true ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING;
    const how = known.kty === 'RSA' ? { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST } : { key };
    const encoding = known.kty === 'EC' ? ({ dsaEncoding: 'ieee-p1363' } as const) : {};
    return verify(known.hash ?? null, Buffer.from(signingInput), { ...how, ...encoding }, signature);
  } catch {
    return false;
  }
}

function objectIn(part: string): Record<string, unknown> | undefined {
  try {
    return readJsonObject(base64UrlBytes(part));
  } catch {
    return undefined;
  }
}
