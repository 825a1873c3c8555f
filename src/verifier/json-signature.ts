import {
  constants,
  createHash,
  createPublicKey,
  createVerify,
  type JsonWebKey,
  type KeyObject,
  type PublicKeyInput,
  type Verify,
} from 'node:crypto';
import { fromBase64Url } from '../formats/encoding/base64.js';
import type { JsonObjectText } from './json-object-text.js';

/** A single signature inside the JSON object that it signs (JSON Signature Format 0.82). */
export interface JsonSignature {
  /** Algorithm name from RFC 7518. */
  readonly algorithm: string;
  readonly keyId?: string;
  readonly publicKey?: JsonWebKey;
  /** Signature value, base64url. */
  readonly value: string;
}

/** Parameters of an RFC 7518 algorithm. */
export interface JsfAlgorithm {
  readonly hash: 'sha256' | 'sha384' | 'sha512';
  /** Undefined for RSA. */
  readonly curve?: string;
  readonly isPss?: boolean;
}

/** Algorithms from RFC 7518 section 3.1. Each curve has one digest. */
const JSF_ALGORITHMS: Readonly<Record<string, JsfAlgorithm>> = {
  ES256: { hash: 'sha256', curve: 'prime256v1' },
  ES384: { hash: 'sha384', curve: 'secp384r1' },
  ES512: { hash: 'sha512', curve: 'secp521r1' },
  RS256: { hash: 'sha256' },
  RS384: { hash: 'sha384' },
  RS512: { hash: 'sha512' },
  PS256: { hash: 'sha256', isPss: true },
  PS384: { hash: 'sha384', isPss: true },
  PS512: { hash: 'sha512', isPss: true },
};

const USUAL: Readonly<Record<string, string>> = { 'ec-p256': 'ES256', 'ec-p384': 'ES384', 'ec-p521': 'ES512' };

/** Signature parameters of a signing key. */
export interface JsfSigner {
  /** The members of the signature other than its value. */
  readonly facts: Omit<JsonSignature, 'value'>;
  readonly how: JsfAlgorithm;
  readonly publicKey: KeyObject;
  /** Signature scheme, as named in the service's API. */
  readonly scheme: 'rsa-pkcs1v15' | 'ecdsa-raw';
}

/**
 * Returns the signature parameters for a key type. RSA keys use PKCS #1 v1.5, which every verifier supports. Returns undefined if JSF does not name an
 * algorithm for the type.
 */
export function jsfSignerOf(keyId: string, type: string, key: PublicKeyInput | string): JsfSigner | undefined {
  const algorithm = USUAL[type] ?? (type.startsWith('rsa-') ? 'RS256' : undefined);
  const how = algorithm === undefined ? undefined : JSF_ALGORITHMS[algorithm];
  if (algorithm === undefined || how === undefined) return undefined;
  const publicKey = createPublicKey(key);
  const facts = { algorithm, keyId, publicKey: publicKey.export({ format: 'jwk' }) };
  return { facts, how, publicKey, scheme: how.curve === undefined ? 'rsa-pkcs1v15' : 'ecdsa-raw' };
}

/**
 * SignedText is the signed text: the canonical form (RFC 8785) of the object with its signature, without the value. The text is computed once, for both the
 * digest and the verifier, because the computation takes seconds for a document with a million components.
 */
export class SignedText {
  readonly digest: Buffer;
  private readonly verifier: Verify;

  /** @throws SyntaxError */
  constructor(document: JsonObjectText, facts: Omit<JsonSignature, 'value'>, hash: string) {
    const digest = createHash(hash);
    this.verifier = createVerify(hash);
    for (const piece of document.canonicalWith(facts)) {
      digest.update(piece);
      this.verifier.update(piece);
    }
    this.digest = digest.digest();
  }

  /** Reports whether the key made the signature `value`. Can be called only once. */
  isSignedBy(key: KeyObject, { curve, isPss }: JsfAlgorithm, value: string): boolean {
    const padding = isPss === true ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING;
    const how = curve === undefined ? { key, padding } : { key, dsaEncoding: 'ieee-p1363' as const };
    return this.verifier.verify(how, fromBase64Url(value) ?? Buffer.alloc(0));
  }
}

/**
 * faultsOfJsonSignature verifies the signature of the object with a key that the caller trusts, and returns the faults. The result is empty if the signature
 * is valid. The key inside the signature is not used, because the sender chose it.
 *
 * @throws SyntaxError
 */
export function faultsOfJsonSignature(document: JsonObjectText, key: KeyObject): string[] {
  const signature = document.members['signature'];
  if (!isSignature(signature)) return ['the document does not have exactly one signature by one signer'];
  const known = Object.hasOwn(JSF_ALGORITHMS, signature.algorithm) ? JSF_ALGORITHMS[signature.algorithm] : undefined;
  if (known === undefined) return [`the signature algorithm ${signature.algorithm} is not supported`];
  if (!fits(key, known)) return [`the key does not support ${signature.algorithm}`];
  const { value, ...facts } = signature;
  const holds = new SignedText(document, facts, known.hash).isSignedBy(key, known, value);
  return holds ? [] : ['the signature does not verify: it is for a different document or key'];
}

function isSignature(value: unknown): value is JsonSignature {
  const { algorithm, value: bytes } = (value ?? {}) as Partial<JsonSignature>;
  return typeof algorithm === 'string' && typeof bytes === 'string';
}

function fits(key: KeyObject, { curve }: JsfAlgorithm): boolean {
  if (curve === undefined) return key.asymmetricKeyType === 'rsa';
  return key.asymmetricKeyDetails?.namedCurve === curve;
}
