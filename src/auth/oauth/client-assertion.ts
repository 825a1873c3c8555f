import { errors, type JWTPayload } from 'jose';
import { decodeJws, type PublicJwk } from '../../formats/encoding/json-web-key.js';
import { verifyToken } from '../credentials/key-sets/token-signature.js';
import { isJti, MAX_JTI_LENGTH } from '../credentials/possession/used-proofs.repository.js';

/** Value of `client_assertion_type` for a JWT (RFC 7523 section 2.2). */
export const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Accepted clock skew, in seconds. */
const SKEW_SECONDS = 30;
/** Maximum lifetime of an assertion, in seconds. Clients create an assertion for a single request. */
const MAX_LIFE_SECONDS = 3600;
const MAX_LENGTH = 8 * 1024;
/**
 * Accepted values of `typ`, in lower case: no type, the generic type, and the type defined in draft-ietf-oauth-rfc7523bis. A JWT with another type, such as a
 * DPoP proof or a logout token, is not a client assertion (RFC 8725 section 3.11).
 */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'client-authentication+jwt'];

/** ClientAssertionRefused is thrown for an assertion that is not accepted. The message is printable ASCII without quotes. */
export class ClientAssertionRefused extends Error {}

/** The values against which an assertion is verified. */
export interface ExpectedAssertion {
  readonly clientId: string;
  /** The identifiers of this service: the issuer and the token endpoint. */
  readonly audiences: readonly string[];
  /** Returns the keys of the client. `fresh` requests a refetch, because no known key matches. */
  readonly keys: (fresh: boolean) => Promise<readonly PublicJwk[]>;
  readonly now: Date;
}

/** Returns the subject of an assertion, without verifying the assertion. Returns undefined if the string is not a JWT with a subject. */
export function subjectOf(assertion: string): string | undefined {
  const subject = assertion.length > MAX_LENGTH ? undefined : decodeJws(assertion)?.payload['sub'];
  return typeof subject === 'string' ? subject : undefined;
}

/**
 * Verifies client authentication with a private key (`private_key_jwt`; RFC 7523 section 3, OpenID Connect Core section 9): the type, an asymmetric
 * algorithm, a key of the client, `iss` and `sub`, the audience, and the times.
 *
 * The audience must contain only this service, because any other recipient could replay the assertion to this service. The issuer and the token endpoint are
 * the only accepted identifiers of the service.
 *
 * @returns the `jti` of the assertion, and the time until which the assertion would be accepted
 * @throws ClientAssertionRefused; also the errors of `keys`
 */
export async function verifyClientAssertion(
  assertion: string,
  { clientId, audiences, keys, now }: ExpectedAssertion,
): Promise<{ jti: string; until: Date }> {
  const decoded = decodeJws(assertion);
  if (decoded === undefined)
    throw new ClientAssertionRefused('The client assertion is not a JWT in compact serialization.');
  const { typ: type } = decoded.header;
  if (!TYPES.includes(typeof type === 'string' ? type.toLowerCase().replace(/^application\//, '') : type))
    throw new ClientAssertionRefused('The typ header of the client assertion is not accepted.');
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
    return new ClientAssertionRefused(`The ${error.claim} claim of the client assertion is missing or not accepted.`);
  return new ClientAssertionRefused('The signature of the client assertion does not match any key of the client.');
}

function assertAudience({ aud }: JWTPayload, audiences: readonly string[]): void {
  const named = [aud ?? []].flat();
  if (named.length === 0 || named.some((one) => !audiences.includes(one)))
    throw new ClientAssertionRefused('The audience of the client assertion must be the issuer or the token endpoint.');
}

function jtiOf({ jti }: JWTPayload): string {
  if (isJti(jti)) return jti;
  throw new ClientAssertionRefused(
    `The jti claim of the client assertion must be a string of at most ${MAX_JTI_LENGTH} characters.`,
  );
}

function endOf({ exp = 0, iat }: JWTPayload, now: Date): Date {
  const seconds = now.getTime() / 1000;
  if (iat !== undefined && (typeof iat !== 'number' || iat > seconds + SKEW_SECONDS))
    throw new ClientAssertionRefused(
      "The iat claim of the client assertion is in the future. Check the client's clock.",
    );
  if (exp > seconds + MAX_LIFE_SECONDS + SKEW_SECONDS)
    throw new ClientAssertionRefused('The lifetime of the client assertion exceeds the maximum of one hour.');
  return new Date((exp + 2 * SKEW_SECONDS) * 1000);
}
