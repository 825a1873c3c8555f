import { fromBase64, fromBase64Url } from '../../formats/encoding/base64.js';
import type { DigestName, Scheme } from '../agent/signer/remote-signer.js';
import { readJsonObject } from '../../platform/json/strict-json.js';

/** NotationErrorCode is an error code that notation defines (notaryproject specifications, plugin-extensibility.md). */
export type NotationErrorCode =
  'VALIDATION_ERROR' | 'UNSUPPORTED_CONTRACT_VERSION' | 'ACCESS_DENIED' | 'TIMEOUT' | 'ERROR';

export class NotationError extends Error {
  constructor(
    readonly code: NotationErrorCode,
    message: string,
  ) {
    super(message);
  }
}

export const CONTRACT = '1.0';

/** A key type, with its name in notation and the only algorithm that notation permits for keys of this type (signature-specification.md, section 3). */
interface NotationKeyType {
  readonly keySpec: string;
  readonly hashAlgorithm: string;
  readonly signingAlgorithm: string;
  readonly hash: DigestName;
  readonly scheme: Scheme;
}

const TYPES: Readonly<Record<string, NotationKeyType>> = {
  'rsa-2048': typeOf('RSA-2048', 256),
  'rsa-3072': typeOf('RSA-3072', 384),
  'rsa-4096': typeOf('RSA-4096', 512),
  'ec-p256': typeOf('EC-256', 256),
  'ec-p384': typeOf('EC-384', 384),
  'ec-p521': typeOf('EC-521', 512),
};

function typeOf(keySpec: string, bits: 256 | 384 | 512): NotationKeyType {
  const isRsa = keySpec.startsWith('RSA');
  return {
    keySpec,
    hashAlgorithm: `SHA-${bits}`,
    signingAlgorithm: `${isRsa ? 'RSASSA-PSS' : 'ECDSA'}-SHA-${bits}`,
    hash: `sha${bits}`,
    scheme: isRsa ? 'rsa-pss' : 'ecdsa-raw',
  };
}

/** @throws NotationError if notation does not support the key type */
export function notationKeyType(type: string): NotationKeyType {
  const known = TYPES[type];
  if (known !== undefined) return known;
  throw new NotationError('VALIDATION_ERROR', `notation does not support keys of type ${type}`);
}

export interface NotationRequest {
  readonly keyId: string;
  readonly keySpec: string | undefined;
  readonly hashAlgorithm: string | undefined;
  /** Bytes to sign. */
  readonly payload: Buffer | undefined;
}

/**
 * Parses a request from notation.
 *
 * @throws NotationError if the input is not a valid request
 */
export function readNotationRequest(input: string): NotationRequest {
  const { contractVersion, keyId, keySpec, hashAlgorithm, payload } = objectIn(input);
  if (contractVersion !== CONTRACT)
    throw new NotationError('UNSUPPORTED_CONTRACT_VERSION', `this plugin supports only contract version ${CONTRACT}`);
  if (typeof keyId !== 'string' || keyId === '') throw new NotationError('VALIDATION_ERROR', 'keyId is missing');
  const bytes = typeof payload === 'string' ? fromBase64(payload) : undefined;
  if (payload !== undefined && (bytes === undefined || bytes.length === 0))
    throw new NotationError('VALIDATION_ERROR', 'payload is not valid base64');
  return { keyId, keySpec: textOf(keySpec), hashAlgorithm: textOf(hashAlgorithm), payload: bytes };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function objectIn(input: string): Record<string, unknown> {
  try {
    return readJsonObject(input);
  } catch (error) {
    throw new NotationError('VALIDATION_ERROR', `cannot parse the request: ${(error as Error).message}`);
  }
}

/** Returns the artifact digest in a notation JWS, for approvers. Returns an empty object for COSE, which is not parsed. */
export function shownArtifact(payload: Buffer): Readonly<Record<string, string>> {
  const [, encoded = ''] = payload.toString('latin1').split('.');
  const bytes = fromBase64Url(encoded);
  if (bytes === undefined) return {};
  try {
    const { targetArtifact } = objectIn(bytes.toString()) as { targetArtifact?: Record<string, unknown> };
    const { digest, mediaType } = targetArtifact ?? {};
    return typeof digest === 'string' && typeof mediaType === 'string' ? { artifact: digest, mediaType } : {};
  } catch {
    return {};
  }
}
