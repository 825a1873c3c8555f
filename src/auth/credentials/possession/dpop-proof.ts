import { createHash, timingSafeEqual } from 'node:crypto';
import { errors, importJWK, type JWTPayload, jwtVerify } from 'jose';
import { decodeJws, jwkThumbprint, type PublicJwk } from '../../../formats/encoding/json-web-key.js';
import { hasSecretKey, readKeySet } from '../key-sets/key-set.js';
import { ASYMMETRIC_ALGORITHMS } from '../key-sets/token-signature.js';
import { isJti, MAX_JTI_LENGTH } from './used-proofs.repository.js';

/** Accepted clock skew, in seconds. */
const SKEW_SECONDS = 30;
/** Maximum age of a proof, in seconds. A client creates a proof for one request and sends the proof immediately. */
const MAX_AGE_SECONDS = 60;
const MAX_LENGTH = 8 * 1024;

/** ProofRefused is thrown for a proof that is not accepted. The message is printable ASCII without quotes. */
export class ProofRefused extends Error {}

/** The request for which a proof must have been created. */
export interface ProvenCall {
  readonly method: string;
  /** The URLs by which the client may have addressed the endpoint, normalized by `plainAddress`. */
  readonly addresses: readonly string[];
  /** The access token of the call; undefined if a token is being requested. */
  readonly accessToken: string | undefined;
}

/** A proof with a valid signature that was created for the request. The caller must still check that the proof was not used before. */
export interface VerifiedProof {
  /** Thumbprint of the key (RFC 7638, SHA-256) in base64url, the value of `cnf.jkt`. */
  readonly thumbprint: string;
  readonly jti: string;
  /** Time from which the proof is rejected as too old. */
  readonly until: Date;
}

/**
 * Verifies a DPoP proof (RFC 9449 section 4.3): type, an asymmetric algorithm, the public key in its header, the signature, method and URL of the call, the
 * time, and the hash of the access token, if the request contains an access token.
 *
 * The server issues no nonces: a proof is accepted once, for up to a minute.
 *
 * @param proof the DPoP header field; several fields arrive joined by commas, which no JWT contains
 * @throws ProofRefused
 */
export async function verifyDpopProof(proof: string, call: ProvenCall, now: Date): Promise<VerifiedProof> {
  const decoded = proof.length > MAX_LENGTH ? undefined : decodeJws(proof);
  if (decoded === undefined)
    throw new ProofRefused('The DPoP header must be sent exactly once and contain a single JWT.');
  const { alg, jwk } = decoded.header;
  if (typeof alg !== 'string' || !ASYMMETRIC_ALGORITHMS.includes(alg))
    throw new ProofRefused('The DPoP proof must be signed with an asymmetric algorithm.');
  const { key, thumbprint } = publicKeyOf(jwk);
  const payload = await payloadOf(proof, key, alg, now);
  assertCall(payload, call);
  return { thumbprint, jti: jtiOf(payload), until: endOf(payload, now) };
}

/** Returns a URL without query and fragment, normalized (RFC 3986 sections 6.2.2 and 6.2.3). Returns undefined if the string is not an http(s) URL. */
export function plainAddress(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    return undefined;
  return url.origin + url.pathname.replaceAll(/%[0-9A-Fa-f]{2}/g, normalizedEscape);
}

/** Returns the public key of a proof. Rejects private and symmetric keys, and keys whose `use` does not allow verification. */
function publicKeyOf(jwk: unknown): { key: PublicJwk; thumbprint: string } {
  const set = { keys: [jwk] };
  if (hasSecretKey(set))
    throw new ProofRefused('The DPoP proof contains a private or symmetric key. Include only the public key.');
  try {
    const [key] = readKeySet(set);
    const thumbprint = key === undefined ? undefined : jwkThumbprint(key);
    if (key !== undefined && thumbprint !== undefined) return { key, thumbprint };
  } catch {
    // readKeySet throws if the key is unusable, which is reported below.
  }
  throw new ProofRefused('The DPoP proof has no usable public key. RSA keys must have at least 2048 bits.');
}

async function payloadOf(proof: string, key: PublicJwk, alg: string, now: Date): Promise<JWTPayload> {
  try {
    const options = { typ: 'dpop+jwt', algorithms: [alg], currentDate: now, clockTolerance: SKEW_SECONDS };
    return (await jwtVerify(proof, await importJWK(key as never, key.alg ?? alg), options)).payload;
  } catch (error) {
    if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'typ')
      throw new ProofRefused('The typ header of the DPoP proof must be dpop+jwt.');
    if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)
      throw new ProofRefused('The DPoP proof has expired or is not valid yet.');
    throw new ProofRefused('The signature of the DPoP proof does not match the key in its header.');
  }
}

function assertCall({ htm, htu, ath }: JWTPayload, { method, addresses, accessToken }: ProvenCall): void {
  if (htm !== method) throw new ProofRefused('The htm claim of the DPoP proof does not match the request method.');
  const address = typeof htu === 'string' ? plainAddress(htu) : undefined;
  if (address === undefined || !addresses.includes(address))
    throw new ProofRefused('The htu claim of the DPoP proof does not match the request URL.');
  if (accessToken !== undefined && !isHashOf(ath, accessToken))
    throw new ProofRefused('The ath claim of the DPoP proof does not match the access token.');
}

function isHashOf(ath: unknown, token: string): boolean {
  const expected = Buffer.from(createHash('sha256').update(token).digest('base64url'));
  const given = Buffer.from(typeof ath === 'string' ? ath : '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function jtiOf({ jti }: JWTPayload): string {
  if (isJti(jti)) return jti;
  throw new ProofRefused(`The jti claim of the DPoP proof must be a string of at most ${MAX_JTI_LENGTH} characters.`);
}

function endOf({ iat }: JWTPayload, now: Date): Date {
  const age = typeof iat === 'number' ? now.getTime() / 1000 - iat : NaN;
  if (!(age >= -SKEW_SECONDS)) throw new ProofRefused('The iat claim of the DPoP proof is missing or in the future.');
  if (age > MAX_AGE_SECONDS + SKEW_SECONDS)
    throw new ProofRefused('The DPoP proof is too old. Create a new proof for each request.');
  return new Date(((iat as number) + MAX_AGE_SECONDS + 2 * SKEW_SECONDS) * 1000);
}

/** Decodes percent-encoded unreserved characters and converts the other encodings to upper case (RFC 3986 sections 6.2.2.1 and 6.2.2.2). */
function normalizedEscape(escape: string): string {
  const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
}
