import type { AlgorithmUse, Purpose } from '../model/risk-subject.js';

/** How names of algorithms are recognized: in this order, each match is taken out of the name before the next is tried. */
export interface AlgorithmPattern {
  readonly family: string;
  /** Group 1, where there is one, is the size or parameter set. */
  readonly pattern: RegExp;
  readonly size?: 'bits' | 'param';
  /** Bits that the name stands for by itself. */
  readonly bits?: number;
  readonly role?: 'hash' | 'mac' | 'kdf' | 'cipher' | 'signature' | 'exchange' | 'key';
}

const WORD = (text: string) => new RegExp(`(?<![A-Z0-9])(?:${text})(?![A-Z0-9])`, 'i');
const p = (family: string, pattern: RegExp, more: Partial<AlgorithmPattern> = {}): AlgorithmPattern => ({
  family,
  pattern,
  ...more,
});
const HASH = { role: 'hash' } as const;
const CIPHER = { role: 'cipher', size: 'bits' } as const;
const KDF = { role: 'kdf' } as const;
const MAC = { role: 'mac' } as const;
const SIGNATURE = { role: 'signature' } as const;
const EXCHANGE = { role: 'exchange' } as const;

export const ALGORITHM_PATTERNS: readonly AlgorithmPattern[] = [
  // Post-quantum names come first: DSA and EC are parts of some.
  p('ML-KEM', /ML[-_ ]?KEM[-_ ]?(512|768|1024)?/i, { size: 'param', role: 'exchange' }),
  p('ML-DSA', /ML[-_ ]?DSA[-_ ]?(44|65|87)?/i, { size: 'param', role: 'signature' }),
  p('SLH-DSA', /SLH[-_ ]?DSA[-_ ]?((?:SHA2|SHAKE)[-_]\d{3}[sf])?/i, { size: 'param', role: 'signature' }),
  p('Kyber', /KYBER[-_ ]?(512|768|1024)?/i, { size: 'param', role: 'exchange' }),
  p('Dilithium', /DILITHIUM[-_ ]?([235])?/i, { size: 'param', role: 'signature' }),
  p('SPHINCS+', /SPHINCS\+?[-_\w]*/i, SIGNATURE),
  p('FN-DSA', /FN[-_ ]?DSA[-_ ]?\d*/i, SIGNATURE),
  p('Falcon', /FALCON[-_ ]?\d*/i, SIGNATURE),
  p('XMSSMT', /XMSS[-_^]?MT[-_\w/]*/i, SIGNATURE),
  p('XMSS', /XMSS[-_\w/]*/i, SIGNATURE),
  p('HSS', WORD('HSS'), SIGNATURE),
  p('LMS', WORD('LMS(?:_[A-Z0-9_]+)?'), SIGNATURE),
  p('NTRU-Prime', /SNTRUP\d*|NTRU[-_ ]?PRIME/i, EXCHANGE),
  p('NTRU', /NTRU[-_\w]*/i, EXCHANGE),
  p('FrodoKEM', /FRODO[-_\w]*/i, EXCHANGE),
  p('Classic-McEliece', /MCELIECE[-_\w]*/i, EXCHANGE),
  p('HQC', WORD('HQC(?:[-_]?\\d+)?'), EXCHANGE),
  p('BIKE', WORD('BIKE(?:[-_]?\\w\\d+)?'), EXCHANGE),
  p('SABER', WORD('SABER|LIGHTSABER|FIRESABER'), EXCHANGE),
  p('SIKE', /SIKE(?:P\d+)?|SIDH/i, EXCHANGE),
  p('Rainbow', WORD('RAINBOW[-_\\w]*'), SIGNATURE),
  p('MAYO', WORD('MAYO[-_]?\\d*'), SIGNATURE),
  p('UOV', WORD('UOV'), SIGNATURE),
  p('HAWK', WORD('HAWK[-_]?\\d*'), SIGNATURE),
  p('SQIsign', /SQISIGN/i, SIGNATURE),
  // Password-based schemes and generators hold names of others, which stay in the name to be found as well.
  p('PBES2', /PBES2|PBEWITHHMAC(?=SHA)/i, KDF),
  p('PBES1', /PBES1|PBE(?:WITH)?(?=(?:MD|SHA)\d)/i, KDF),
  p('PBMAC1', /PBMAC1/i, MAC),
  p('PBKDF2', /PBKDF[-_ ]?2(?:WITH)?(?=HMAC)?/i, KDF),
  p('PBKDF1', /PBKDF[-_ ]?1/i, KDF),
  p('HKDF', /HKDF/i, KDF),
  p('scrypt', /\bSCRYPT/i, KDF),
  p('yescrypt', /YESCRYPT/i, KDF),
  p('bcrypt', /BCRYPT/i, KDF),
  p('Argon2', /ARGON2(?:ID|I|D)?/i, KDF),
  p('MGF1', /MGF[-_]?1/i, KDF),
  p('SHA1PRNG', /SHA1PRNG/i),
  p('Dual_EC_DRBG', /DUAL[-_]?EC(?:[-_]?DRBG)?/i),
  p('X9.31-RNG', /X9\.?31[-_]?(?:RNG|PRNG|DRBG)/i),
  p('Math.random', /MATH\.RANDOM|MATH\/RAND|JAVA\.UTIL\.RANDOM|MERSENNE/i),
  p('DRBG', /(?:HMAC|HASH|CTR)?[-_]?DRBG|NATIVEPRNG\w*|SECURE_?RANDOM|URANDOM|FORTUNA|YARROW|CSPRNG/i),
  p('Dual_EC_DRBG', /\bDUALECDRBG\b/i),
  // MACs
  p('HMAC', /(?:HMAC(?:WITH)?|(?<![A-Z0-9])HS(?=(?:256|384|512)(?!\d)))/i, MAC),
  p('CMAC', /(?:AES[-_]?)?CMAC/i, MAC),
  p('GMAC', /(?:AES[-_]?)?GMAC/i, MAC),
  p('KMAC', /KMAC(?:XOF)?(128|256)?/i, { size: 'bits', role: 'mac' }),
  p('Poly1305', /POLY[-_]?1305/i, MAC),
  p('SipHash', /SIPHASH[-\d]*/i, MAC),
  p('UMAC', /UMAC[-_]?\d*/i, MAC),
  // JOSE (RFC 7518)
  p('RSA', /(?<![A-Z0-9])[RP]S(?=(?:256|384|512)(?!\d))/i, SIGNATURE),
  p('ECDSA', /(?<![A-Z0-9])ES(?=(?:256|384|512)K?(?!\d))/i, SIGNATURE),
  p('AES', /(?<![A-Z0-9])A(128|192|256)(?=(?:GCM|CBC|KW|CTR))/i, CIPHER),
  // Public-key
  p('RSA', /RSA(?:SSA|ES)?[-_ ]?(?:PSS|OAEP|PKCS1?|KEM)?(?:[-_/ ]?(?:V1[._]5|1[._]5))?[-_ ]?(\d{3,5}(?!\d))?/i, {
    size: 'bits',
  }),
  p('ECDSA', /EC[-_]?G?DSA|ECGDSA/i, SIGNATURE),
  p('EdDSA', /EDDSA|ED[-_]?(?:25519|448)(?:PH|CTX)?/i, SIGNATURE),
  p('XDH', /X[-_]?(?:25519|448)|CURVE[-_]?(?:25519|448)|(?<![A-Z0-9])XDH(?![A-Z0-9])/i, EXCHANGE),
  p('ECMQV', /EC[-_]?MQV/i, EXCHANGE),
  p('ECIES', /ECIES/i, EXCHANGE),
  p('ECDH', /EC(?:C)?[-_]?DHE?(?:[-_]ES)?|ECCDH/i, EXCHANGE),
  p('X3DH', /X3DH/i, EXCHANGE),
  p('HPKE', WORD('HPKE'), EXCHANGE),
  p('SRP', WORD('SRP(?:-?\\d\\w?)?'), EXCHANGE),
  p('J-PAKE', /J-?PAKE/i, EXCHANGE),
  p('SPAKE2', /SPAKE2\+?/i, EXCHANGE),
  p('OPAQUE', WORD('OPAQUE'), EXCHANGE),
  p('ElGamal', /EL[-_]?GAMAL/i, EXCHANGE),
  p('DSA', /(?<![A-Z])DS(?:A|S)[-_ ]?(\d{3,5})?/i, { size: 'bits', role: 'signature' }),
  p('DSA', /(?<=WITH)DSA/i, SIGNATURE),
  p(
    'DH',
    /(?:FF)?(?<![A-Z])DHE?(?:[-_ ]?(\d{3,5}))?(?![A-Z])|DIFFIE[-_ ]?HELLMAN|FFDHE?(\d{3,5})?|MODP[-_ ]?(\d{3,5})?/i,
    { size: 'bits', role: 'exchange' },
  ),
  p('SM2', WORD('SM2(?:SIGN)?'), { role: 'signature' }),
  p('SM9', WORD('SM9')),
  p('GOST', /GOST[-_ ]?R?[-_ ]?34[-_.]?10[-_\d]*|ECGOST[\d-]*/i, SIGNATURE),
  p('BLS', WORD('BLS(?:12[-_]?\\d+)?'), SIGNATURE),
  p('EC', WORD('EC(?:C)?(?:[-_]?(?:PUBLICKEY|KEY))?|ID-ECPUBLICKEY|ELLIPTIC[-_ ]?CURVE')),
  // Symmetric
  p('3DES', /3[-_]?DES(?:[-_]?EDE\d?)?|DES[-_]?EDE\d?|TRIPLE[-_ ]?DES|TDE[AS]|DES[-_]?EDE/i, { role: 'cipher' }),
  p('DES', /(?<![A-Z])DES(?:[-_]?(?:56|64|40))?(?![A-Z])|(?<=AND)DES(?![A-Z])/i, { role: 'cipher' }),
  p('AES', /(?:AES|RIJNDAEL)[-_ ]?(\d{2,3}(?!\d))?/i, CIPHER),
  p('XChaCha20', /XCHACHA(?:20)?/i, { role: 'cipher' }),
  p('ChaCha20', /CHACHA(?:20)?/i, { role: 'cipher' }),
  p('Salsa20', /X?SALSA(?:20)?/i, { role: 'cipher' }),
  p('RC4', /ARC[-_]?FOUR|A?RC[-_]?4(?:[-_]?\d+)?/i, { role: 'cipher' }),
  p('RC2', /RC[-_]?2(?:[-_]?\d+)?/i, { role: 'cipher' }),
  p('RC5', /RC[-_]?5/i, { role: 'cipher' }),
  p('RC6', /RC[-_]?6/i, { role: 'cipher' }),
  p('Blowfish', /BLOW[-_]?FISH/i, { role: 'cipher' }),
  p('Twofish', /TWO[-_]?FISH/i, CIPHER),
  p('Serpent', /SERPENT/i, CIPHER),
  p('CAST6', /CAST[-_]?(?:6|256)/i, { role: 'cipher' }),
  p('CAST5', /CAST[-_]?(?:5|128)/i, { role: 'cipher' }),
  p('Camellia', /CAMELLIA[-_ ]?(\d{3})?/i, CIPHER),
  p('ARIA', WORD('ARIA[-_]?(?:\\d{3})?'), { role: 'cipher' }),
  p('SM4', /SM4|SMS4/i, { role: 'cipher' }),
  p('SEED', WORD('SEED(?:[-_]?128)?'), { role: 'cipher' }),
  p('IDEA', WORD('IDEA'), { role: 'cipher' }),
  p('Skipjack', /SKIPJACK/i, { role: 'cipher' }),
  p('GOST28147', /GOST[-_ ]?28147[-_\d]*|MAGMA/i, { role: 'cipher' }),
  p('KASUMI', /KASUMI/i, { role: 'cipher' }),
  p('MISTY1', /MISTY1/i, { role: 'cipher' }),
  p('A5/1', /A5\/[12]/i, { role: 'cipher' }),
  p('ZUC', WORD('ZUC[-_]?\\d*'), { role: 'cipher' }),
  p('SNOW3G', /SNOW[-_ ]?3G/i, { role: 'cipher' }),
  p('Ascon', /ASCON[-_\w]*/i, { role: 'cipher' }),
  p('NULL', WORD('NULL|IDENTITY_?CIPHER'), { role: 'cipher' }),
  p('AES', /FERNET/i, { role: 'cipher', bits: 128 }),
  // Hashes
  p(
    'SHA-3',
    /SHA[-_]?3[-_/ ](224|256|384|512)|SHA3(224|256|384|512)(?!\d)|SHA[-_]?3(?!\d)|KECCAK[-_ ]?(224|256|384|512)?/i,
    { ...HASH, size: 'bits' },
  ),
  p('SHAKE', /C?SHAKE[-_ ]?(128|256)?/i, { ...HASH, size: 'bits' }),
  p('SHA-2', /SHA[-_]?512[/_-](224|256)/i, { ...HASH, size: 'bits' }),
  p('SHA-2', /SHA[-_]?2?[-_/]?(224|256|384|512)/i, { ...HASH, size: 'bits' }),
  p('SHA-1', /SHA[-_]?1(?!\d)|SHA[-_]?160|(?<![A-Z])SHA(?![A-Z0-9])|SHA(?=WITH)/i, { ...HASH, bits: 160 }),
  p('SHA-2', /SHA[-_]?2(?!\d)/i, HASH),
  p('MD5', /MD[-_]?5/i, { ...HASH, bits: 128 }),
  p('MD4', /MD[-_]?4/i, { ...HASH, bits: 128 }),
  p('MD2', /MD[-_]?2(?!\d)/i, { ...HASH, bits: 128 }),
  p('RIPEMD', /RIPE[-_]?MD[-_]?(128|160|256|320)?/i, { ...HASH, size: 'bits' }),
  p('Whirlpool', /WHIRLPOOL/i, HASH),
  p('Tiger', WORD('TIGER'), HASH),
  p('BLAKE3', /BLAKE[-_]?3/i, HASH),
  p('BLAKE2', /BLAKE[-_]?2[BSX]?[BSP]?[-_]?(\d{3})?/i, { ...HASH, size: 'bits' }),
  p('SM3', /SM3/i, { ...HASH, bits: 256 }),
  p('GOST3411', /GOST[-_ ]?R?[-_ ]?34[-_.]?11[-_\d]*|STREEBOG[-_\d]*/i, HASH),
  p('KDF', /KDF|(?<![A-Z])PRF(?![A-Z])|TLS\d*[-_]?PRF|KEY[-_]?DERIV/i, KDF),
  p('KEYSTORE-LEGACY', WORD('JKS|JCEKS|BKS')),
  p('KEYSTORE', WORD('PKCS[-_#]?12|PFX')),
];

/** Hybrids of key exchange, judged as one, as TLS and SSH name them; and X-Wing. */
export const HYBRIDS = [
  'X25519MLKEM768',
  'SecP256r1MLKEM768',
  'SecP384r1MLKEM1024',
  'mlkem768x25519-sha256',
  'mlkem1024nistp384-sha384',
  'mlkem768nistp256-sha256',
  'X-Wing',
  'sntrup761x25519-sha512@openssh.com',
  'sntrup761x25519-sha512',
  'X25519Kyber768Draft00',
  'kyber768x25519',
] as const;

/** AlgorithmIdentifiers (RFC 5280) and others that come without a name that says which algorithm it is. */
export const OIDS: Record<string, string> = {
  '1.2.840.113549.1.1.1': 'RSA',
  '1.2.840.113549.1.1.4': 'MD5withRSA',
  '1.2.840.113549.1.1.5': 'SHA1withRSA',
  '1.2.840.113549.1.1.7': 'RSA-OAEP',
  '1.2.840.113549.1.1.10': 'RSASSA-PSS',
  '1.2.840.113549.1.1.11': 'SHA256withRSA',
  '1.2.840.113549.1.1.12': 'SHA384withRSA',
  '1.2.840.113549.1.1.13': 'SHA512withRSA',
  '1.2.840.10040.4.1': 'DSA',
  '1.2.840.10045.2.1': 'EC',
  '1.2.840.10045.4.3.2': 'SHA256withECDSA',
  '1.2.840.10045.4.3.3': 'SHA384withECDSA',
  '1.2.840.10045.4.3.4': 'SHA512withECDSA',
  '1.3.132.1.12': 'ECDH',
  '1.3.101.110': 'X25519',
  '1.3.101.111': 'X448',
  '1.3.101.112': 'Ed25519',
  '1.3.101.113': 'Ed448',
  '1.3.14.3.2.26': 'SHA-1',
  '1.2.840.113549.2.5': 'MD5',
  '1.2.840.113549.2.9': 'HMAC-SHA256',
  '1.2.840.113549.3.7': '3DES',
  '1.3.14.3.2.7': 'DES',
  '2.16.840.1.101.3.4.1.6': 'AES-128-GCM',
  '2.16.840.1.101.3.4.1.46': 'AES-256-GCM',
  '2.16.840.1.101.3.4.2.1': 'SHA-256',
  '2.16.840.1.101.3.4.2.2': 'SHA-384',
  '2.16.840.1.101.3.4.2.3': 'SHA-512',
  '2.16.840.1.101.3.4.4.1': 'ML-KEM-512',
  '2.16.840.1.101.3.4.4.2': 'ML-KEM-768',
  '2.16.840.1.101.3.4.4.3': 'ML-KEM-1024',
  '2.16.840.1.101.3.4.3.17': 'ML-DSA-44',
  '2.16.840.1.101.3.4.3.18': 'ML-DSA-65',
  '2.16.840.1.101.3.4.3.19': 'ML-DSA-87',
};

const ROLES = ['cipher', 'hash', 'mac', 'kdf'] as const;
type Role = (typeof ROLES)[number];

/** The use of an algorithm: its purpose if it has a public key, else its role. */
export type CryptoUse = Purpose | Role;

const isRole = (role: AlgorithmPattern['role']): role is Role => ROLES.some((one) => one === role);
const ROLE_OF = new Map(ALGORITHM_PATTERNS.flatMap(({ family, role }) => (isRole(role) ? [[family, role]] : [])));

export function useOf({ family, purpose }: Pick<AlgorithmUse, 'family' | 'purpose'>): CryptoUse {
  return purpose === 'unknown' ? (ROLE_OF.get(family) ?? 'unknown') : purpose;
}
