import { createHash } from 'node:crypto';
import { decodeProtectedHeader, errors, importJWK, jwtVerify, type JWTVerifyOptions } from 'jose';
import type { Claims } from '../../access/identity/verified-identity.js';
import { decodeJws, jwkThumbprint, type PublicJwk } from '../../formats/encoding/json-web-key.js';
import { truncate } from '../../platform/text/truncate.js';
import { ASYMMETRIC_ALGORITHMS } from '../credentials/key-sets/token-signature.js';

/** Accepted clock skew, in seconds. */
export const SKEW_SECONDS = 30;
/** Maximum age of a token, in seconds. A longer-lived token was not issued for a single run. */
const MAX_TOKEN_SECONDS = 24 * 3600;
const MAX_TOKEN_LENGTH = 12 * 1024;
/** The end of the year 9999, in seconds since 1970: later times cannot be stored. */
const MAX_TIME_SECONDS = 253_402_300_799;
const MAX_CLAIMS = 200;
const MAX_DEPTH = 8;
const MAX_QUOTED_LENGTH = 100;

/**
 * WorkloadTokenRefused is thrown for a token that is not accepted. The message contains the reason, in printable ASCII without quotes; the code is defined in
 * RFC 6749 section 5.2.
 */
export class WorkloadTokenRefused extends Error {
  constructor(
    message: string,
    readonly code: 'invalid_grant' | 'invalid_scope' = 'invalid_grant',
  ) {
    super(message);
  }
}

/** A token whose signature, issuer and times have been verified. Audience and conditions have yet to be checked. */
export interface VerifiedWorkloadToken {
  readonly token: string;
  readonly claims: Claims;
  readonly audience: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  /** SHA-256 of `jti`, or of the signed part of a token without `jti`. */
  readonly useHash: Buffer;
  /** SHA-256 of the signed part of the token, base64. */
  readonly tokenSha256: string;
  readonly key: PublicJwk;
  readonly keyThumbprint: string;
}

/** Fetches the keys of the issuer; `fresh` is true if no known key matches. */
type IssuerKeyReader = (fresh: boolean) => Promise<readonly PublicJwk[]>;

/** Returns the `iss` claim of a token, without verifying the token. */
export function unverifiedIssuerOf(token: string): string {
  const decoded = token.length > MAX_TOKEN_LENGTH ? undefined : decodeJws(token);
  const issuer = decoded?.payload['iss'];
  if (typeof issuer === 'string') return issuer;
  throw new WorkloadTokenRefused(
    'The token is not a JWT in compact serialization with an iss claim, or contains a duplicate name or a number beyond 2^53.',
  );
}

/**
 * Verifies a workload's token (RFC 7519, RFC 8725): the algorithm, which must be asymmetric, the signature by one of the issuer's keys, the issuer, `exp`,
 * `iat` and `nbf`, and the audience, which must be a single value.
 *
 * @throws WorkloadTokenRefused
 */
export async function verifyWorkloadToken(
  token: string,
  issuer: string,
  keys: IssuerKeyReader,
  now: Date,
): Promise<VerifiedWorkloadToken> {
  const { kid, alg } = headerOf(token);
  const options = {
    algorithms: ASYMMETRIC_ALGORITHMS,
    issuer,
    currentDate: now,
    clockTolerance: SKEW_SECONDS,
    maxTokenAge: MAX_TOKEN_SECONDS,
    requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat'],
  };
  const known = await verifyingKey(token, candidates(await keys(false), kid, alg), options);
  const found = known ?? (await verifyingKey(token, candidates(await keys(true), kid, alg), options));
  if (found === undefined)
    throw new WorkloadTokenRefused('The signature of the token does not match any key of the issuer.');
  return verified(token, found);
}

function headerOf(token: string): { kid: string | undefined; alg: string } {
  try {
    const { kid, alg } = decodeProtectedHeader(token);
    if (alg !== undefined && ASYMMETRIC_ALGORITHMS.includes(alg)) return { kid, alg };
  } catch {
    throw new WorkloadTokenRefused('The token header cannot be parsed.');
  }
  throw new WorkloadTokenRefused('The token must be signed with an asymmetric algorithm.');
}

/** Returns the keys that may have created the signature. A key without an ID matches every ID. */
function candidates(keys: readonly PublicJwk[], kid: string | undefined, alg: string): PublicJwk[] {
  return keys.filter(
    (key) => (kid === undefined || key.kid === undefined || key.kid === kid) && (key.alg ?? alg) === alg,
  );
}

/** Returns the key that verifies the token; undefined if no key does. Throws if the token has another fault. */
async function verifyingKey(
  token: string,
  keys: readonly PublicJwk[],
  options: JWTVerifyOptions,
): Promise<PublicJwk | undefined> {
  const { alg = '' } = decodeProtectedHeader(token);
  for (const key of keys) {
    try {
      await jwtVerify(token, await importJWK(key as never, alg), options);
      return key;
    } catch (error) {
      if (error instanceof errors.JWTExpired)
        throw new WorkloadTokenRefused('The token has expired or is too old. Request a new token from the issuer.');
      if (error instanceof errors.JWTClaimValidationFailed)
        throw new WorkloadTokenRefused(`The ${printable(error.claim)} claim of the token is missing or not accepted.`);
      // After any other error, the next key is tried: this key did not create the signature, or has another type.
    }
  }
  return undefined;
}

function verified(token: string, key: PublicJwk): VerifiedWorkloadToken {
  const decoded = decodeJws(token);
  const keyThumbprint = jwkThumbprint(key);
  if (decoded === undefined || keyThumbprint === undefined)
    throw new WorkloadTokenRefused('The token is not a JWT in compact serialization.');
  const { payload: claims, signingInput } = decoded;
  assertStorable(claims);
  const { exp, iat, jti, sub } = claims;
  // RFC 7519 section 4.1.2: the subject string identifies a workload.
  if (typeof sub !== 'string' || sub === '')
    throw new WorkloadTokenRefused('The sub claim of the token must be a non-empty string.');
  if (Number(exp) > MAX_TIME_SECONDS) throw new WorkloadTokenRefused('The exp claim of the token is not a valid time.');
  const signed = createHash('sha256').update(signingInput).digest();
  return {
    token,
    claims,
    audience: audienceOf(claims),
    issuedAt: new Date(Number(iat) * 1000),
    expiresAt: new Date(Number(exp) * 1000),
    useHash: typeof jti === 'string' && jti !== '' ? createHash('sha256').update(`jti ${jti}`).digest() : signed,
    tokenSha256: signed.toString('base64'),
    key,
    keyThumbprint,
  };
}

/** Returns the audience of a token. Rejects a token with several audiences, because any other recipient could replay the token to this service. */
function audienceOf({ aud }: Claims): string {
  const all: unknown[] = Array.isArray(aud) ? aud : [aud];
  const [one] = all;
  if (all.length === 1 && typeof one === 'string' && one !== '') return one;
  throw new WorkloadTokenRefused('The token must have exactly one audience.');
}

/** Rejects claims that are too numerous, too deeply nested, or cannot be stored. PostgreSQL does not accept NUL or unpaired surrogates. */
function assertStorable(claims: Claims): void {
  let count = 0;
  const visit = (value: unknown, depth: number): boolean => {
    count += 1;
    if (count > MAX_CLAIMS || depth > MAX_DEPTH) return false;
    if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
    if (typeof value === 'number') return Number.isFinite(value);
    if (typeof value !== 'object' || value === null) return true;
    return Object.entries(value).every(
      ([name, inner]) => name !== '__proto__' && visit(name, depth + 1) && visit(inner, depth + 1),
    );
  };
  if (!visit(claims, 0))
    throw new WorkloadTokenRefused('The token has too many claims or contains invalid characters.');
}

/** Replaces characters that are not allowed in an error description (RFC 6749 section 5.2), and truncates the text. */
export function printable(text: string): string {
  return truncate(text.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?'), MAX_QUOTED_LENGTH);
}
