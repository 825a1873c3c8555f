import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { Algorithm } from './finding.js';

/** SensedKeyFacts is the algorithm of a public key with its parameters. */
export interface SensedKeyFacts {
  /** SHA-256 of the SubjectPublicKeyInfo. Undefined if the public key is not available. */
  readonly fingerprint: string | undefined;
  readonly algorithm: Algorithm;
  readonly bits: number | undefined;
}

const EC = '1.2.840.10045.2.1';
const CURVES: Readonly<Record<string, string>> = { prime256v1: 'secp256r1', prime192v1: 'secp192r1' };
const OIDS: Readonly<Record<string, string>> = {
  ed25519: '1.3.101.112',
  ed448: '1.3.101.113',
  x25519: '1.3.101.110',
  x448: '1.3.101.111',
};
const NAMES: Readonly<Record<string, string>> = {
  ed25519: 'Ed25519',
  ed448: 'Ed448',
  x25519: 'X25519',
  x448: 'X448',
};

export function rsa(bits: number, name = 'RSA'): Algorithm {
  const properties = { primitive: 'signature', parameterSetIdentifier: String(bits) };
  const oid = { RSA: '1.2.840.113549.1.1.1', DSA: '1.2.840.10040.4.1' }[name] ?? '1.2.840.113549.1.1.10';
  return { name: `${name}-${bits}`, oid, properties };
}

export function onCurve(curve: string): Algorithm {
  return { name: `EC-${curve}`, oid: EC, properties: { primitive: 'signature', curve } };
}

/** Returns the algorithm of a key that does not name its curve. */
export function onUnnamedCurve(bits?: number): Algorithm {
  if (bits === undefined) return { name: 'EC', oid: EC, properties: { primitive: 'signature' } };
  return { name: `EC-${bits}`, oid: EC, properties: { primitive: 'signature', parameterSetIdentifier: String(bits) } };
}

/** Returns the facts about a key. The names are the same as for keys in certificates, so that equal algorithms become one asset. */
export function sensedFactsOf(key: KeyObject): SensedKeyFacts {
  const fingerprint = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
  const { asymmetricKeyType: type = 'unknown', asymmetricKeyDetails: details = {} } = key;
  const { modulusLength: bits, namedCurve } = details;
  if (bits !== undefined) {
    const name = { 'rsa-pss': 'RSASSA-PSS', dsa: 'DSA' }[type as string] ?? 'RSA';
    return { fingerprint, algorithm: rsa(bits, name), bits };
  }
  if (namedCurve !== undefined) {
    const curve = CURVES[namedCurve] ?? namedCurve;
    return { fingerprint, algorithm: onCurve(curve), bits: curveBits(curve) };
  }
  return { fingerprint, algorithm: named(type), bits: undefined };
}

export function named(type: string): Algorithm {
  const primitive = /^x\d/.test(type) ? 'key-agree' : 'signature';
  const oid = OIDS[type];
  return { name: NAMES[type] ?? type.toUpperCase(), ...(oid === undefined ? {} : { oid }), properties: { primitive } };
}

/** Returns the number of bits in the name of a curve, or undefined for an object identifier, which contains no size. */
export function curveBits(curve: string): number | undefined {
  if (/^\d/.test(curve)) return undefined;
  const digits = /(\d{3})/.exec(curve)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function factsOfJwk(jwk: JsonWebKey): SensedKeyFacts | undefined {
  try {
    return sensedFactsOf(createPublicKey({ key: jwk, format: 'jwk' }));
  } catch {
    return undefined;
  }
}
