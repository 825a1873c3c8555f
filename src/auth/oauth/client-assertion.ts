import { errors, type JWTPayload } from 'jose';
import { decodeJws, type PublicJwk } from '../../formats/jose/json-web-key.js';
import { verifyToken } from '../key-sets/token-signature.js';
import { isJti, MAX_JTI_LENGTH } from '../possession/used-proofs.repository.js';

/** RFC 7523 section 2.2 */
export const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Accepted clock skew, in seconds. */
const SKEW_SECONDS = 30;
/** An assertion is made for one request: one that can be used for longer than this was made to be kept. */
const MAX_LIFE_SECONDS = 3600;
const MAX_LENGTH = 8 * 1024;
/**
 * The types that such a JWT may have, in lower case: none, the general one, and that of draft-ietf-oauth-rfc7523bis. A JWT that says it is
 * something else, such as a DPoP proof or a logout token, is no client assertion (RFC 8725 section 3.11).
 */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'client-authentication+jwt'];

/** An assertion that is not accepted. The message says why, in printable ASCII without quotes. */
export class ClientAssertionRefused extends Error {}

/** What an assertion is judged by. */
export interface ExpectedAssertion {
  readonly clientId: string;
  /** The issuer and the token endpoint: what names this service. */
  readonly audiences: readonly string[];
  /** Reads the keys of the client; `fresh`: because none of those that are known fits. */
  readonly keys: (fresh: boolean) => Promise<readonly PublicJwk[]>;
  readonly now: Date;
}

/** The client that an assertion says it is of; undefined if it is no JWT. Nothing is verified. */
export function subjectOf(assertion: string): string | undefined {
  const subject = assertion.length > MAX_LENGTH ? undefined : decodeJws(assertion)?.payload['sub'];
  return typeof subject === 'string' ? subject : undefined;
}

/**
 * Verifies how a client authenticates by its private key (`private_key_jwt`; RFC 7523 section 3, OpenID Connect Core section 9): the type,
 * an asymmetric algorithm, a key of the client, `iss` and `sub`, the audience, the times.
 *
 * The audience must be this service and nobody else: an assertion for several could be used here by each of the others, and the issuer and
 * the token endpoint are the only names that a client learns from our metadata.
 *
 * @returns its `jti`, and until when it would be accepted
 * @throws ClientAssertionRefused; what `keys` throws
 */
export async function verifyClientAssertion(
  assertion: string,
  { clientId, audiences, keys, now }: ExpectedAssertion,
): Promise<{ jti: string; until: Date }> {
  const decoded = decodeJws(assertion);
  if (decoded === undefined) throw new ClientAssertionRefused('The client assertion is not a JWT in compact form.');
  const { typ: type } = decoded.header;
  if (!TYPES.includes(typeof type === 'string' ? type.toLowerCase().replace(/^application\//, '') : type))
    throw new ClientAssertionRefused('The client assertion is a JWT of another type.');
  const reader = async (fresh: boolean) => ({ keys: [...(await keys(fresh))] });
  const options = { issuer: clientId, subject: clientId, currentDate: now, clockTolerance: SKEW_SECONDS };
  const required = ['iss', 'sub', 'aud', 'exp', 'jti'];
  const { payload } = await verifyToken(assertion, reader, { ...options, requiredClaims: required }).catch(
    (error: unknown): never => {
      throw error instanceof errors.JOSEError ? refusalOf(error) : error;
    },
  );
  assertAudience(payload, audiences);
  return { jti: jtiOf(payload), until: endOf(payload, now) };
}

function refusalOf(error: errors.JOSEError): ClientAssertionRefused {
  if (error instanceof errors.JWTExpired) return new ClientAssertionRefused('The client assertion has expired.');
  if (error instanceof errors.JWTClaimValidationFailed)
    return new ClientAssertionRefused(`The claim ${error.claim} of the client assertion is missing or not accepted.`);
  return new ClientAssertionRefused('No key of the client verifies the client assertion.');
}

function assertAudience({ aud }: JWTPayload, audiences: readonly string[]): void {
  const named = [aud ?? []].flat();
  if (named.length === 0 || named.some((one) => !audiences.includes(one)))
    throw new ClientAssertionRefused('The audience of the client assertion must be the issuer or the token endpoint.');
}

function jtiOf({ jti }: JWTPayload): string {
  if (isJti(jti)) return jti;
  throw new ClientAssertionRefused(`The claim jti must be a text of at most ${MAX_JTI_LENGTH} characters.`);
}

function endOf({ exp = 0, iat }: JWTPayload, now: Date): Date {
  const seconds = now.getTime() / 1000;
  if (iat !== undefined && (typeof iat !== 'number' || iat > seconds + SKEW_SECONDS))
    throw new ClientAssertionRefused('The client assertion is from the future.');
  if (exp > seconds + MAX_LIFE_SECONDS + SKEW_SECONDS)
    throw new ClientAssertionRefused('The client assertion is valid for longer than an hour.');
  return new Date((exp + 2 * SKEW_SECONDS) * 1000);
}
