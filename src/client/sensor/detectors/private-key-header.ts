import { DER } from '../../../formats/asn1/der-reader.js';
import { type ByteWindow, WindowElement } from '../model/der.js';
import {
  curveBits,
  onUnnamedCurve,
  factsOfJwk,
  type SensedKeyFacts,
  named,
  onCurve,
  rsa,
} from '../model/key-algorithm.js';
import { coordinates } from '../model/ssh-blob.js';
import { passwordEncryption } from '../../../formats/pkcs/password-encryption.js';

/* Reads the type of a private key, and its public key if the public key is stored with the private key. The private numbers are skipped by their lengths. */

const RSA = '1.2.840.113549.1.1.1';
const RSA_PSS = '1.2.840.113549.1.1.10';
const DSA = '1.2.840.10040.4.1';
const EC = '1.2.840.10045.2.1';
const PRIME_FIELD = '1.2.840.10045.1.1';
const TYPES: Readonly<Record<string, string>> = {
  '1.3.101.110': 'x25519',
  '1.3.101.111': 'x448',
  '1.3.101.112': 'ed25519',
  '1.3.101.113': 'ed448',
  '2.16.840.1.101.3.4.3.17': 'ml-dsa-44',
  '2.16.840.1.101.3.4.3.18': 'ml-dsa-65',
  '2.16.840.1.101.3.4.3.19': 'ml-dsa-87',
  '2.16.840.1.101.3.4.4.1': 'ml-kem-512',
  '2.16.840.1.101.3.4.4.2': 'ml-kem-768',
  '2.16.840.1.101.3.4.4.3': 'ml-kem-1024',
};
const CURVES: Readonly<Record<string, readonly [string, string?]>> = {
  '1.2.840.10045.3.1.7': ['secp256r1', 'P-256'],
  '1.3.132.0.34': ['secp384r1', 'P-384'],
  '1.3.132.0.35': ['secp521r1', 'P-521'],
  '1.3.132.0.10': ['secp256k1', 'secp256k1'],
  '1.3.132.0.33': ['secp224r1'],
  '1.3.36.3.3.2.8.1.1.7': ['brainpoolP256r1'],
};

/**
 * Reads a PKCS #8 private key (RFC 5958).
 *
 * @throws RangeError for any other format
 */
export function privateKeyFacts(window: ByteWindow): Partial<SensedKeyFacts> {
  const [version, algorithm, key] = WindowElement.at(window, 0).children();
  if (version?.tag !== DER.integer || algorithm?.tag !== DER.sequence || key?.tag !== DER.octetString)
    throw new RangeError('not PKCS #8');
  const [id, parameters] = algorithm.children();
  return factsByOid(id?.oid() ?? '', key, parameters);
}

function factsByOid(oid: string, key: WindowElement, parameters: WindowElement | undefined): Partial<SensedKeyFacts> {
  if (oid === RSA || oid === RSA_PSS) return rsaFacts(key.inside());
  if (oid === EC) return ecFacts(key.inside(), parameters);
  if (oid === DSA) return { algorithm: rsa(parameters?.children()[0]?.bits() ?? 0, 'DSA') };
  const type = TYPES[oid];
  return { algorithm: type === undefined ? { name: oid, oid, properties: { primitive: 'unknown' } } : named(type) };
}

/** Reads a private key in PKCS #1, SEC 1 or OpenSSL's DSA format. */
export function traditionalKeyFacts(kind: string, window: ByteWindow): Partial<SensedKeyFacts> {
  const key = WindowElement.at(window, 0);
  if (kind === 'RSA') return rsaFacts(key);
  if (kind === 'EC') return ecFacts(key, undefined);
  return { algorithm: rsa(key.children()[1]?.bits() ?? 0, 'DSA') };
}

/** Returns the encryption scheme of an EncryptedPrivateKeyInfo. */
export function encryptedKeyScheme(window: ByteWindow): string {
  const [algorithm, sealed] = WindowElement.at(window, 0).children();
  if (algorithm?.tag !== DER.sequence || sealed?.tag !== DER.octetString) throw new RangeError('not an encrypted key');
  return passwordEncryption(algorithm.raw(), () => undefined).name;
}

/** Reads an RSA key. The modulus and the public exponent precede the private numbers. */
function rsaFacts(key: WindowElement): Partial<SensedKeyFacts> {
  const [, modulus, exponent] = key.children();
  if (modulus === undefined || exponent === undefined) throw new RangeError('not an RSA key');
  const [n, e] = [modulus, exponent].map((number) => number.contents().toString('hex').replace(/^00/, ''));
  const jwk = { kty: 'RSA', n: base64url(n ?? ''), e: base64url(e ?? '') };
  return factsOfJwk(jwk) ?? { algorithm: rsa(modulus.bits()), bits: modulus.bits() };
}

/** Reads an EC key: version, private number, then curve and public point if present. */
function ecFacts(key: WindowElement, parameters: WindowElement | undefined): Partial<SensedKeyFacts> {
  const [, , ...given] = key.children();
  const own = given.find(({ tag }) => tag === 0xa0)?.inside();
  const domain = parameters ?? own;
  if (domain?.tag === DER.sequence) return explicitCurve(domain);
  if (domain?.tag !== DER.oid) return { algorithm: onUnnamedCurve() };
  const id = domain.oid();
  const [curve = id, crv] = CURVES[id] ?? [];
  const facts = { algorithm: onCurve(curve), bits: curveBits(curve) };
  const point = given
    .find(({ tag }) => tag === 0xa1)
    ?.inside()
    .contents()
    .subarray(1);
  if (crv === undefined || point?.[0] !== 4) return facts;
  return factsOfJwk({ kty: 'EC', crv, ...coordinates(point) }) ?? facts;
}

/** Reads SpecifiedECDomain (SEC 1 section C.2): a version, then the field with its prime, or with its degree over GF(2). */
function explicitCurve(domain: WindowElement): Partial<SensedKeyFacts> {
  const [type, parameters] = domain.children()[1]?.children() ?? [];
  if (parameters === undefined) throw new RangeError('the field parameters are missing');
  const degree = parameters.tag === DER.sequence ? parameters.children()[0] : undefined;
  const bits = type?.oid() === PRIME_FIELD ? parameters.bits() : degree?.small();
  return { algorithm: onUnnamedCurve(bits), bits };
}

function base64url(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64url');
}
