interface KeyOid {
  readonly name: string;
  /** Source of the size: the modulus, the prime in the parameters, or the curve. */
  readonly kind?: 'rsa' | 'prime' | 'curve';
  readonly primitive?: string;
}

const signs = (name: string): KeyOid => ({ name, primitive: 'signature' });
const numbered = (prefix: string, first: number, names: readonly string[], primitive: string) =>
  Object.fromEntries(names.map((name, index) => [`${prefix}.${first + index}`, { name, primitive }]));

const SLH_DSA = ['SHA2', 'SHAKE'].flatMap((hash) =>
  [128, 192, 256].flatMap((size) => ['s', 'f'].map((speed) => `SLH-DSA-${hash}-${size}${speed}`)),
);

/** Public-key algorithms by OID. */
export const KEY_OIDS: Readonly<Record<string, KeyOid>> = {
  '1.2.840.113549.1.1.1': { name: 'RSA', kind: 'rsa' },
  '1.2.840.113549.1.1.10': { name: 'RSASSA-PSS', kind: 'rsa' },
  '1.2.840.10040.4.1': { name: 'DSA', kind: 'prime' },
  '1.2.840.10046.2.1': { name: 'DH', kind: 'prime' },
  '1.2.840.10045.2.1': { name: 'EC', kind: 'curve' },
  '1.3.132.1.12': { name: 'EC', kind: 'curve' },
  '1.3.101.110': { name: 'X25519', primitive: 'key-agree' },
  '1.3.101.111': { name: 'X448', primitive: 'key-agree' },
  '1.3.101.112': signs('Ed25519'),
  '1.3.101.113': signs('Ed448'),
  '1.2.643.2.2.19': signs('GOST R 34.10-2001'),
  '1.2.643.7.1.1.1.1': signs('GOST R 34.10-2012-256'),
  '1.2.643.7.1.1.1.2': signs('GOST R 34.10-2012-512'),
  '1.2.156.10197.1.301': signs('SM2'),
  ...numbered('2.16.840.1.101.3.4.4', 1, ['ML-KEM-512', 'ML-KEM-768', 'ML-KEM-1024'], 'kem'),
  ...numbered('2.16.840.1.101.3.4.3', 17, ['ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87', ...SLH_DSA], 'signature'),
};

/** Signature algorithms by OID. Each name contains both the hash and the key algorithm. */
export const SIGNATURE_OIDS: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.2': 'MD2withRSA',
  '1.2.840.113549.1.1.3': 'MD4withRSA',
  '1.2.840.113549.1.1.4': 'MD5withRSA',
  '1.2.840.113549.1.1.5': 'SHA1withRSA',
  '1.3.14.3.2.29': 'SHA1withRSA',
  '1.2.840.113549.1.1.10': 'RSASSA-PSS',
  '1.2.840.113549.1.1.11': 'SHA256withRSA',
  '1.2.840.113549.1.1.12': 'SHA384withRSA',
  '1.2.840.113549.1.1.13': 'SHA512withRSA',
  '1.2.840.113549.1.1.14': 'SHA224withRSA',
  '1.2.840.10040.4.3': 'SHA1withDSA',
  '2.16.840.1.101.3.4.3.1': 'SHA224withDSA',
  '2.16.840.1.101.3.4.3.2': 'SHA256withDSA',
  '1.2.840.10045.4.1': 'SHA1withECDSA',
  '1.2.840.10045.4.3.1': 'SHA224withECDSA',
  '1.2.840.10045.4.3.2': 'SHA256withECDSA',
  '1.2.840.10045.4.3.3': 'SHA384withECDSA',
  '1.2.840.10045.4.3.4': 'SHA512withECDSA',
  '1.2.643.2.2.3': 'GOST R 34.10-2001 with GOST R 34.11-94',
  '1.2.643.7.1.1.3.2': 'GOST R 34.10-2012-256 with GOST R 34.11-2012',
  '1.2.643.7.1.1.3.3': 'GOST R 34.10-2012-512 with GOST R 34.11-2012',
  '1.2.156.10197.1.501': 'SM2 with SM3',
};

/** Hashes by OID, for the parameters of RSASSA-PSS. */
export const HASH_OIDS: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'SHA1',
  '2.16.840.1.101.3.4.2.1': 'SHA256',
  '2.16.840.1.101.3.4.2.2': 'SHA384',
  '2.16.840.1.101.3.4.2.3': 'SHA512',
  '2.16.840.1.101.3.4.2.4': 'SHA224',
};

export const CURVE_OIDS: Readonly<Record<string, string>> = {
  '1.2.840.10045.3.1.1': 'secp192r1',
  '1.3.132.0.33': 'secp224r1',
  '1.2.840.10045.3.1.7': 'secp256r1',
  '1.3.132.0.34': 'secp384r1',
  '1.3.132.0.35': 'secp521r1',
  '1.3.132.0.10': 'secp256k1',
  '1.3.36.3.3.2.8.1.1.7': 'brainpoolP256r1',
  '1.3.36.3.3.2.8.1.1.11': 'brainpoolP384r1',
  '1.3.36.3.3.2.8.1.1.13': 'brainpoolP512r1',
  '1.2.156.10197.1.301': 'sm2p256v1',
};

export const FIELD_BITS: Readonly<Record<string, number>> = {
  secp192r1: 192,
  secp224r1: 224,
  secp256r1: 256,
  secp384r1: 384,
  secp521r1: 521,
  secp256k1: 256,
  brainpoolP256r1: 256,
  brainpoolP384r1: 384,
  brainpoolP512r1: 512,
  sm2p256v1: 256,
};
