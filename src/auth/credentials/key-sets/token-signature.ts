import {
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWK,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';
import { base64UrlBytes } from '../../../formats/encoding/base64.js';
import { readJsonObject } from '../../../platform/json/strict-json.js';

/** Asymmetric signature algorithms (RFC 7518 section 3.1, RFC 8037, RFC 9864). */
export const ASYMMETRIC_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const SYMMETRIC = new Set(['HS256', 'HS384', 'HS512']);

/** Reads the keys that a provider publishes; `fresh` bypasses the cache. */
export type KeyReader = (fresh: boolean) => Promise<{ keys: unknown[] }>;

/**
 * Verifies a token issued by a provider (RFC 7519). Without `kid`, or if several keys have the same `kid`, each key is tried. If no key matches, the keys are
 * refetched once, because providers rotate their keys.
 *
 * @throws jose's JOSEError with the reason.
 */
export async function verifyToken(token: string, keys: KeyReader, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  assertUnambiguous(token);
  const accepted = { algorithms: ASYMMETRIC_ALGORITHMS, ...options };
  try {
    return await verifyWith(token, await keys(false), accepted);
  } catch (error) {
    const isStale = error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
    if (!isStale) throw error;
    return verifyWith(token, await keys(true), accepted);
  }
}

/** Reports whether the header of a token names an algorithm that uses the client secret as the key (OpenID Connect Core section 10.1). */
export function isSignedBySecret(token: string): boolean {
  return SYMMETRIC.has(decodeProtectedHeader(token).alg ?? '');
}

/** Verifies a token that is signed with the client secret. */
export async function verifyWithSecret(token: string, secret: string): Promise<JWTVerifyResult> {
  assertUnambiguous(token);
  return jwtVerify(token, Buffer.from(secret), { algorithms: [...SYMMETRIC] });
}

/** Rejects duplicate members, because another parser could use the other value of a claim (RFC 7519 section 4). */
function assertUnambiguous(token: string): void {
  const [header = '', payload = ''] = token.split('.');
  try {
    for (const part of [header, payload]) readJsonObject(base64UrlBytes(part), { roundsNumbers: true });
  } catch (error) {
    throw new errors.JWTInvalid(`the header or the claims cannot be parsed: ${(error as Error).message}`);
  }
}

async function verifyWith(
  token: string,
  published: { keys: unknown[] },
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  const { kid } = decodeProtectedHeader(token);
  const usable = published.keys.filter(isForSignatures);
  // A key without an ID matches every ID.
  const keys: JSONWebKeySet = { keys: kid === undefined ? usable : usable.map((key) => ({ kid, ...key })) };
  try {
    return await jwtVerify(token, createLocalJWKSet(keys), options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    return await verifyWithEach(token, error, options);
  }
}

async function verifyWithEach(
  token: string,
  candidates: errors.JWKSMultipleMatchingKeys,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  for await (const key of candidates) {
    try {
      return await jwtVerify(token, key, options);
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

/** Reports whether a key can verify signatures. Key sets may also contain encryption keys and unsupported key types. */
function isForSignatures(key: unknown): key is JWK {
  return typeof key === 'object' && key !== null && (key as { use?: unknown }).use !== 'enc';
}
