import type { AlgorithmProperties } from '../../model/document.js';
import { dotted } from '../../../formats/asn1/der-reader.js';
import { KEY_OIDS } from '../../judgement/vocabularies/key-oids.js';
import { namedCurve, type PublicKeyAlgorithm } from '../../judgement/vocabularies/public-key-algorithm.js';

/** Names of curves that are used with only one algorithm (RFC 9580 section 9.2). Other curves are named as in certificates. */
const CURVES: Readonly<Record<string, string>> = {
  '1.3.6.1.4.1.11591.15.1': 'Ed25519',
  '1.3.6.1.4.1.3029.1.5.1': 'X25519',
  '1.3.101.110': 'X25519',
  '1.3.101.111': 'X448',
  '1.3.101.112': 'Ed25519',
  '1.3.101.113': 'Ed448',
};
/** Object identifiers by algorithm name, so that an algorithm with an OID is the same asset in all key formats. */
const OWN_OIDS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(KEY_OIDS).map(([oid, { name }]) => [name, oid]),
);

/** PgpFields reads the fields of a key packet after the algorithm. After the last field, `at` is the end of the public key material. */
export class PgpFields {
  constructor(
    private readonly bytes: Buffer,
    public at: number,
  ) {}

  /** Returns the length of a multiprecision integer in bits, and skips the integer. */
  mpi(): number {
    const bits = this.bytes.readUInt16BE(this.at);
    this.skip(2 + Math.ceil(bits / 8));
    return bits;
  }

  /** Reads a field that is preceded by a one-octet length. The lengths 0 and 255 are reserved. */
  short(): Buffer {
    const length = this.bytes.readUInt8(this.at);
    const start = this.at + 1;
    this.skip(1 + length);
    return this.bytes.subarray(start, this.at);
  }

  skip(octets: number): void {
    this.at += octets;
    if (this.at > this.bytes.length) throw new RangeError('the OpenPGP key is truncated');
  }
}

type Reader = (fields: PgpFields) => PublicKeyAlgorithm;

/** Algorithms by public-key algorithm ID (RFC 9580 section 9.1; draft-ietf-openpgp-pqc section 2.5). */
const ALGORITHMS: Readonly<Record<number, Reader>> = {
  1: rsa('signature'),
  2: rsa('pke'),
  3: rsa('signature'),
  16: prime('ElGamal', 'pke', 2),
  17: prime('DSA', 'signature', 3),
  18: ecdh,
  19: curve('EC', 'signature'),
  20: prime('ElGamal', 'pke', 2),
  22: curve('EdDSA', 'signature'),
  25: fixed('X25519', 'key-agree', 32),
  26: fixed('X448', 'key-agree', 56),
  27: fixed('Ed25519', 'signature', 32),
  28: fixed('Ed448', 'signature', 57),
  30: fixed('ML-DSA-65+Ed25519', 'signature', 32 + 1952),
  31: fixed('ML-DSA-87+Ed448', 'signature', 57 + 2592),
  32: fixed('SLH-DSA-SHAKE-128s', 'signature', 32),
  33: fixed('SLH-DSA-SHAKE-128f', 'signature', 32),
  34: fixed('SLH-DSA-SHAKE-256s', 'signature', 64),
  35: fixed('ML-KEM-768+X25519', 'kem', 32 + 1184),
  36: fixed('ML-KEM-1024+X448', 'kem', 56 + 1568),
};

/** pgpAlgorithm returns the algorithm of a key and skips its fields. An unknown algorithm is named by its ID, and its fields cannot be skipped. */
export function pgpAlgorithm(id: number, fields: PgpFields): PublicKeyAlgorithm {
  const read = ALGORITHMS[id];
  return read?.(fields) ?? named(`OpenPGP algorithm ${id}`, { primitive: 'unknown' });
}

/** isKnownAlgorithm returns false for algorithms that are not in ALGORITHMS, such as a LibrePGP composite (algorithm 8). */
export function isKnownAlgorithm(id: number): boolean {
  return ALGORITHMS[id] !== undefined;
}

function named(name: string, properties: AlgorithmProperties, bits: number | null = null): PublicKeyAlgorithm {
  return { oid: OWN_OIDS[name] ?? '', name, bits, curve: null, properties };
}

function rsa(primitive: string): Reader {
  return (fields) => {
    const bits = fields.mpi();
    fields.mpi();
    return { ...sized('RSA', primitive, bits), oid: OWN_OIDS['RSA'] ?? '' };
  };
}

function prime(name: string, primitive: string, others: number): Reader {
  return (fields) => {
    const bits = fields.mpi();
    for (let count = 0; count < others; count += 1) fields.mpi();
    return { ...sized(name, primitive, bits), oid: OWN_OIDS[name] ?? '' };
  };
}

function sized(name: string, primitive: string, bits: number): PublicKeyAlgorithm {
  return named(`${name}-${bits}`, { primitive, parameterSetIdentifier: String(bits) }, bits);
}

function curve(kind: string, primitive: string): Reader {
  return (fields) => {
    const oid = dotted(fields.short());
    const own = CURVES[oid];
    fields.mpi();
    if (own !== undefined) return named(own, { primitive });
    const { name, bits } = namedCurve(oid);
    return {
      oid: OWN_OIDS['EC'] ?? '',
      name: `${kind}-${name}`,
      bits,
      curve: name,
      properties: { primitive, curve: name },
    };
  };
}

function ecdh(fields: PgpFields): PublicKeyAlgorithm {
  const algorithm = curve('ECDH', 'key-agree')(fields);
  // Skips the KDF parameters: hash and cipher.
  fields.short();
  return algorithm;
}

function fixed(name: string, primitive: string, octets: number): Reader {
  return (fields) => {
    fields.skip(octets);
    return named(name, { primitive });
  };
}
