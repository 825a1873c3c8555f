import type { AlgorithmIdentifier, SubjectPublicKeyInfo } from '@peculiar/asn1-x509';
import type { AlgorithmProperties } from '../model/document.js';
import { DER, derElements, dotted } from '../../formats/asn1/der-reader.js';
import { bitLength } from '../../formats/encoding/bit-length.js';
import { CURVE_OIDS, FIELD_BITS, KEY_OIDS } from './key-oids.js';

/** The algorithm of a public key, from its SubjectPublicKeyInfo. */
export interface PublicKeyAlgorithm {
  readonly oid: string;
  readonly name: string;
  /** Modulus, prime or field; null where the name says it all. */
  readonly bits: number | null;
  readonly curve: string | null;
  readonly properties: AlgorithmProperties;
}

/** RFC 3279, 5480, 8410, 4491; NIST CSOR for ML-KEM, ML-DSA and SLH-DSA. What is not known goes by its identifier. */
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
        name: known?.name ?? oid,
        bits: null,
        curve: null,
        properties: { primitive: known?.primitive ?? 'unknown' },
      };
  }
}

/** The key of a certificate or host authenticates: its algorithm is listed as one that signs. */
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

/** DSA and DH: the first parameter is the prime. */
function primeBits(algorithm: AlgorithmIdentifier): number | null {
  const [prime] = parametersOf(algorithm);
  return prime?.tag === DER.integer ? bitLength(prime.contents) : null;
}

/** A named curve, or one that is spelled out (X9.62): then the size of its field. */
function onCurve(oid: string, algorithm: AlgorithmIdentifier): PublicKeyAlgorithm {
  const encoded = algorithm.parameters;
  if (encoded == null) return { oid, name: 'EC', bits: null, curve: null, properties: { primitive: 'signature' } };
  const [first] = quietly(Buffer.from(encoded));
  if (first?.tag === DER.oid) {
    const id = dotted(first.contents);
    const curve = CURVE_OIDS[id] ?? id;
    return ellipticCurve(oid, curve, FIELD_BITS[curve] ?? null);
  }
  const [, fieldId] = first === undefined ? [] : quietly(first.contents);
  const [, prime] = fieldId === undefined ? [] : quietly(fieldId.contents);
  return sized(oid, 'EC', prime?.tag === DER.integer ? bitLength(prime.contents) : null);
}

function parametersOf({ parameters }: AlgorithmIdentifier) {
  const [sequence] = parameters == null ? [] : quietly(Buffer.from(parameters));
  return sequence === undefined ? [] : quietly(sequence.contents);
}

/** A key that cannot be read has no size; the certificate around it is listed all the same. */
function quietly(bytes: Buffer) {
  try {
    return derElements(bytes);
  } catch {
    return [];
  }
}
