import { createHash } from 'node:crypto';
import {
  DIGEST_BYTES,
  type DigestAlgorithm,
  isMlDsa,
  type KeyType,
  type SignatureScheme,
} from '../../hsm/key-vault.js';
import { fromBase64, fromBase64Url } from '../../formats/encoding/base64.js';
import { Problem } from '../../platform/errors/problem.js';
import { isRsa } from '../formats/signature-format.js';
import { digestAlgorithm } from '../requests/sign-request-validator.js';
import type { WeakValues } from './weak-values.js';
import { truncate } from '../../platform/text/truncate.js';

const MAX_INPUT = 44_000;
const SIGNATURE = /^vault:v(\d{1,9}):([A-Za-z0-9+/_=-]+)$/;

/** TransitOptions are the options of one call to the transit engine, without the call's items. */
export interface TransitOptions {
  readonly algorithm: DigestAlgorithm;
  readonly prehashed: boolean;
  /** `signature_algorithm` as sent; empty if absent. Ignored for keys other than RSA. */
  readonly padding: string;
  readonly marshaling: 'asn1' | 'jws';
  /** Length of the PSS salt in bytes; undefined for the default. */
  readonly saltLength: number | undefined;
  /** Key version; 0 selects the newest version. */
  readonly version: number;
}

/** @param hash the hash algorithm in the path; the body may name the same algorithm, but not a different one */
export function transitOptions(body: WeakValues, hash?: string): TransitOptions {
  const algorithm = hashAlgorithmOf([hash, body.text('hash_algorithm'), body.text('algorithm')]);
  const marshaling = body.text('marshaling_algorithm') ?? '';
  if (marshaling !== '' && marshaling !== 'asn1' && marshaling !== 'jws')
    throw refusal('marshaling_algorithm', `invalid marshaling type "${truncate(marshaling, 40)}"`);
  return {
    algorithm,
    prehashed: body.flag('prehashed') ?? false,
    padding: body.text('signature_algorithm') ?? '',
    marshaling: marshaling === 'jws' ? 'jws' : 'asn1',
    saltLength: saltLengthOf(body, algorithm),
    version: body.whole('key_version') ?? 0,
  };
}

/**
 * Returns the hash value of an item, hashing the input unless it is prehashed. The input may be empty, like a file, but not missing: Vault treats a missing
 * input as empty, and signs the empty input.
 */
export function transitDigest(item: WeakValues, { algorithm, prehashed }: TransitOptions): Buffer {
  assertContext(item);
  const input = item.text('input');
  if (input === undefined) throw refusal('input', 'missing input: send the data to sign, or its hash, in base64');
  if (input.length > MAX_INPUT)
    throw refusal('input', `input has more than ${MAX_INPUT} characters; send a hash value with prehashed: true`);
  const bytes = fromBase64(input);
  if (bytes === undefined)
    throw refusal(
      'input',
      'unable to decode input as base64: it must be RFC 4648 with padding and no line breaks (base64 -w0)',
    );
  if (!prehashed) return createHash(algorithm).update(bytes).digest();
  const wanted = DIGEST_BYTES[algorithm];
  if (bytes.length === wanted) return bytes;
  throw refusal('input', `input is not a ${algorithm} digest: it has ${bytes.length} bytes, not ${wanted}`);
}

export interface TransitSignature {
  readonly version: number;
  readonly bytes: Buffer;
}

/** Parses a signature: `vault:vN:` followed by base64, or by base64url without padding for jws. */
export function transitSignature(item: WeakValues, { marshaling }: TransitOptions): TransitSignature {
  const text = item.text('signature');
  if (text === undefined) throw refusal('signature', missingSignature(item));
  if (!text.startsWith('vault:v')) throw refusal('signature', 'invalid signature: no prefix');
  const [, version, encoded = ''] = SIGNATURE.exec(text) ?? [];
  if (version === undefined || Number(version) < 1)
    throw refusal('signature', 'invalid signature: expected vault:vN:…');
  const bytes = marshaling === 'jws' ? fromBase64Url(encoded) : fromBase64(encoded);
  if (bytes === undefined) throw refusal('signature', 'invalid base64 signature value');
  return { version: Number(version), bytes };
}

/** Returns the signature scheme. Defaults to PSS for RSA keys, as Vault does. Clients that need PKCS #1 v1.5 request it explicitly. */
export function transitScheme(type: KeyType, { padding, marshaling }: TransitOptions): SignatureScheme {
  if (isMlDsa(type)) return 'ml-dsa';
  if (!isRsa(type)) return marshaling === 'jws' ? 'ecdsa-raw' : 'ecdsa-der';
  if (padding === '' || padding === 'pss') return 'rsa-pss';
  if (padding === 'pkcs1v15') return 'rsa-pkcs1v15';
  throw refusal('signature_algorithm', `unsupported rsa signature algorithm "${truncate(padding, 40)}"`);
}

/**
 * Asserts that the salt is as long as the hash (RFC 8017 section 9.1). With `auto`, the signer chooses the salt length and a verifier detects the salt length.
 */
export function assertSaltLength({ saltLength, algorithm }: TransitOptions, scheme: SignatureScheme): void {
  if (scheme !== 'rsa-pss' || saltLength === undefined || saltLength === DIGEST_BYTES[algorithm]) return;
  throw refusal(
    'salt_length',
    `salt length ${saltLength} is not supported: use auto, hash, or ${DIGEST_BYTES[algorithm]}`,
  );
}

/** Parses `salt_length`: `auto`, `hash`, Go's numeric values for these words (0, -1), or a length in bytes. */
function saltLengthOf(body: WeakValues, algorithm: DigestAlgorithm): number | undefined {
  const given = (body.text('salt_length') ?? '').toLowerCase();
  if (given === '' || given === 'auto' || given === '0') return undefined;
  if (given === 'hash' || given === '-1') return DIGEST_BYTES[algorithm];
  if (/^\d{1,4}$/.test(given)) return Number(given);
  throw refusal('salt_length', `salt length neither 'auto', 'hash', nor an int: ${truncate(given, 40)}`);
}

/**
 * Returns the hash algorithm, which clients can name in the path and in two members. If the names differ, Vault uses the first name. This service rejects the
 * call, because one of the names would have no effect.
 */
function hashAlgorithmOf(given: readonly (string | undefined)[]): DigestAlgorithm {
  const [first = 'sha2-256', ...others] = given.filter((name): name is string => name !== undefined && name !== '');
  const algorithm = algorithmOf(first);
  const other = others.find((name) => algorithmOf(name) !== algorithm);
  if (other === undefined) return algorithm;
  throw refusal(
    'hash_algorithm',
    `conflicting hash algorithms "${truncate(first, 40)}" and "${truncate(other, 40)}": specify only one`,
  );
}

function algorithmOf(name: string): DigestAlgorithm {
  try {
    return digestAlgorithm(name);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw refusal('hash_algorithm', `invalid hash algorithm "${truncate(name, 40)}"`);
  }
}

/** Validates the context, which only derived keys use. Derived keys are not supported, but the value must be well formed. */
function assertContext(item: WeakValues): void {
  if (fromBase64(item.text('context') ?? '') === undefined) throw refusal('context', 'failed to base64-decode context');
}

function missingSignature(item: WeakValues): string {
  if (item.text('hmac') === undefined) return "neither a 'signature' nor an 'hmac' were given to verify";
  return 'the keys of this service create signatures, not HMACs';
}

function refusal(field: string, detail: string): Problem {
  return new Problem('malformed', 'request.invalid', detail, { errors: [{ pointer: `/${field}`, detail }] });
}
