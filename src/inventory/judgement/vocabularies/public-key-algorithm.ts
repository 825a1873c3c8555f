import type { AlgorithmIdentifier, SubjectPublicKeyInfo } from '@peculiar/asn1-x509';
import type { AlgorithmProperties } from '../../model/document.js';
import { DER, type DerElement, derElements, dotted, bitLength } from '../../../formats/asn1/der-reader.js';
import { findByOid, findCurve } from './object-identifiers.js';
import { CURVE_OIDS, FIELD_BITS, KEY_OIDS } from './key-oids.js';

/** PublicKeyAlgorithm is the algorithm of a public key, as specified in the SubjectPublicKeyInfo. */
export interface PublicKeyAlgorithm {
  readonly oid: string;
  readonly name: string;
  /** Size of the modulus, prime or field in bits; null if the name implies the size. */
  readonly bits: number | null;
  readonly curve: string | null;
  readonly properties: AlgorithmProperties;
}

/**
 * publicKeyAlgorithm returns the algorithm of a public key (RFC 3279, 5480, 8410, 4491; NIST CSOR for ML-KEM, ML-DSA and SLH-DSA). The OID is used as the
 * name of an unknown algorithm.
 */
export function publicKeyAlgorithm({ algorithm, subjectPublicKey }: SubjectPublicKeyInfo): PublicKeyAlgorithm {
  const oid = algorithm.algorithm;
  const known = KEY_OIDS[oid];
  switch (known?.kind) {
    case 'rsa':
      return sized(oid, known.name, modulusBits(Buffer.from(subjectPublicKey)));
    case 'prime':
      return sized(oid, known.name, primeBits(algorithm));
    case 'curve':
      return onCurve(oid, algorithm);
    case undefined:
      return {
        oid,
        name: known?.name ?? findByOid(oid)?.name ?? oid,
        bits: null,
        curve: null,
        properties: { primitive: known?.primitive ?? 'unknown' },
      };
  }
}

/** sized returns an algorithm with a size. The primitive is `signature`, because the keys of certificates and hosts are used for authentication. */
export function sized(oid: string, name: string, bits: number | null): PublicKeyAlgorithm {
  if (bits === null) return { oid, name, bits, curve: null, properties: { primitive: 'signature' } };
  const properties = { primitive: 'signature', parameterSetIdentifier: String(bits) };
  return { oid, name: `${name}-${bits}`, bits, curve: null, properties };
}

export function ellipticCurve(oid: string, curve: string, bits: number | null): PublicKeyAlgorithm {
  return { oid, name: `EC-${curve}`, bits, curve, properties: { primitive: 'signature', curve } };
}

function modulusBits(key: Buffer): number | null {
  const [sequence] = quietly(key);
  const [modulus] = sequence === undefined ? [] : quietly(sequence.contents);
  return modulus?.tag === DER.integer ? bitLength(modulus.contents) : null;
}

/** Returns the size of the prime, which is the first of the DSA or DH parameters. */
function primeBits(algorithm: AlgorithmIdentifier): number | null {
  const [prime] = parametersOf(algorithm);
  return prime?.tag === DER.integer ? bitLength(prime.contents) : null;
}

/** Returns the algorithm of a key on a named curve or on a curve with explicit parameters (X9.62). Only the field size of explicit parameters is read. */
function onCurve(oid: string, algorithm: AlgorithmIdentifier): PublicKeyAlgorithm {
  const encoded = algorithm.parameters;
  if (encoded == null) return { oid, name: 'EC', bits: null, curve: null, properties: { primitive: 'signature' } };
  const [first] = quietly(Buffer.from(encoded));
  if (first?.tag === DER.oid) {
    const id = dotted(first.contents);
    const { name, bits } = namedCurve(id);
    return ellipticCurve(oid, name, bits);
  }
  const [, fieldId] = first === undefined ? [] : quietly(first.contents);
  const [, field] = fieldId === undefined ? [] : quietly(fieldId.contents);
  return sized(oid, 'EC', fieldBits(field));
}

/** Returns the size of a field: the length of the prime, or the degree of a binary field, which is the first field parameter. */
function fieldBits(field: DerElement | undefined): number | null {
  if (field?.tag === DER.integer) return bitLength(field.contents);
  const [exponent] = field?.tag === DER.sequence ? quietly(field.contents) : [];
  return exponent?.tag === DER.integer && exponent.contents.length <= 4
    ? exponent.contents.readUIntBE(0, exponent.contents.length)
    : null;
}

/** namedCurve returns the name and size of a curve. The OID is used as the name of an unregistered curve. */
export function namedCurve(oid: string): { readonly name: string; readonly bits: number | null } {
  const known = findCurve(oid);
  const name = CURVE_OIDS[oid] ?? known?.name ?? oid;
  return { name, bits: FIELD_BITS[name] ?? known?.bits ?? null };
}

function parametersOf({ parameters }: AlgorithmIdentifier) {
  const [sequence] = parameters == null ? [] : quietly(Buffer.from(parameters));
  return sequence === undefined ? [] : quietly(sequence.contents);
}

/** Returns the DER elements. Empty for a malformed key, so that its certificate is listed without a size. */
function quietly(bytes: Buffer) {
  try {
    return derElements(bytes);
  } catch {
    return [];
  }
}
