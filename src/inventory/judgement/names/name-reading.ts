import { findKnownName } from '../vocabularies/known-names.js';
import { findByOid, findCurve } from '../vocabularies/object-identifiers.js';
import { findSuite } from '../vocabularies/tls-suites.js';
import { findByEndOfPath, withPhrasesRead } from './known-phrases.js';
import { hasNoSize, type Mention, type Mentions, mentionsOf } from './name-mentions.js';
import { type NameToken, tokensOf } from './name-tokens.js';
import { suiteInText } from './suite-in-text.js';
import { suiteMentions } from './suite-mentions.js';
import { ownProperty } from '../../../formats/encoding/own-property.js';

/** NameReading contains the facts in the name of an algorithm. */
export interface NameReading {
  readonly mentions: readonly Mention[];
  /** Lowercase words that are not in any vocabulary. */
  readonly unread: readonly string[];
  /** Whether an unrecognized part looks like a signature, a key exchange or another public-key algorithm. */
  readonly mayBePublicKey: boolean;
  /** Whether the name is not an algorithm according to a vocabulary. The name may denote a canonicalization, a library or a protocol marker. */
  readonly isNoAlgorithm: boolean;
  /** Whether the name consists of an algorithm and nothing else. */
  readonly isWhole: boolean;
  /** Whether the name is a cipher suite, whose algorithms are the algorithms of a protocol. */
  readonly isSuite: boolean;
}

const OID = /^(?:urn:oid:|oid[:.=]?\s?)?([0-2](?:\.\d{1,20}){2,30})$/i;
/** Prefixes of constants in APIs and registries. */
const PREFIX =
  /^(?:CK[MK]_(?:NSS_)?|SEC_OID_|szOID_(?:RSA_|NIST_|OIWSEC_|X957_|INFOSEC_)?|GCRY_(?:CIPHER|MD|PK|MAC|KDF|KEM)_(?:MODE_)?|GNUTLS_(?:CIPHER|MAC|DIG|SIGN|PK|KX|GROUP|ECC_CURVE)_|sodium_|BCRYPT_|NCRYPT_|CALG_|ENCR_|AUTH_|PRF_|KE_|INTEG_|id-(?:alg-|smime-alg-)?)(?=\w)/;
/** Matches a comparison added by TLS scanners: `ECDH x25519 (eq. 3072 bits RSA)` does not mean RSA. */
const EQUIVALENT = /\((?:eq|equiv|equivalent|comparable)\b[^()]{0,60}\)/i;
/** Major version at the end of a Go module path. */
const MAJOR_VERSION = /\/v\d{1,3}$/;
/** Prefix of a password hash in the format of crypt(5). */
const CRYPT_PREFIX = /^\$[a-zA-Z0-9-]{1,20}\$/;
/** Remark in brackets at the end of a name. */
const REMARK = /(?:\([^()]{1,100}\)|\[[^[\]]{1,100}\])$/;
/** Matches ScreenOS proposals, such as pre-g5-aes128-sha: peer authentication, group, and protection. */
const SCREEN_OS = /^(?:(pre|rsa|dsa|ecdsa)-)?g(\d{1,2})-(?=(?:esp-|ah-)?(?:des|3des|aes|md5|sha))/i;
/** Matches names that are cipher suites in OpenSSL. Outside of suite lists, these names denote ciphers. */
const CIPHER_ALONE = /^AES(?:128|256)-CCM8?$/i;
/** Separators before an object identifier at the end of a name, as in curve names (RFC 5656) and algorithm names in CycloneDX (`aes-128-gcm@2.16.840…`). */
const BEFORE_OID = ['-', '@', ':', '_', ' ', '('];
/** Matches a GSS method, in which the Base64 mechanism identifier follows the key exchange (RFC 4462). */
const GSS = /^gss-([a-z0-9-]{3,60}?)-(?:[A-Za-z0-9+/]{22}==|\*)$/;
/** Matches word fragments that are typical of public-key algorithm names. */
const PUBLIC_KEY_LIKE =
  /dsa|rsa|sig|sgn|^emsa$|^eme$|kem|kex|kea|mqv|ecc|pake|pke|pki|pqc|curve|ellip|lattice|schnorr|elg|exchange|agree|asym|pubk|^kas|^kts|^[if]fc|^ec[cdgikmnps]|^dh|dh$|nr$/;
/** Families whose names are also ordinary words. A key name that consists of one of these words does not indicate an algorithm. */
const PLAIN_WORDS = new Set(
  'NULL XOR Rainbow SABER Falcon HAWK MAYO BIKE OPAQUE SEED IDEA Tiger Poseidon Serpent RABBIT Trivium TEA LEA HIGHT MISTY1 HC Ascon Whirlpool PAKE CRC anonymous FEE KEA DRBG KDF'.split(
    ' ',
  ),
);

/** readName interprets an algorithm name. A name in a vocabulary is interpreted as a whole; any other name is interpreted word by word. */
export function readName(name: string): NameReading {
  const text = name.normalize('NFKC').trim();
  const oid = OID.exec(text)?.[1];
  if (oid !== undefined) {
    const found = findByOid(oid);
    return found === undefined ? nothing([oid]) : { ...readName(found.name), isWhole: true };
  }
  const known = readKnown(text);
  if (known !== undefined) return known;
  const read = readWords(withPhrasesRead(text.replace(SCREEN_OS, '$1 DH group $2 ')));
  if (read.mentions.length > 0) return read;
  const bare = findShortened(text, text.replace(REMARK, '').trimEnd());
  if (bare !== undefined)
    return bare.means === null ? { ...nothing([]), isNoAlgorithm: true } : { ...readWords(bare.means), isWhole: true };
  const byPath = findByEndOfPath(text);
  return byPath === undefined ? read : { ...readWords(byPath), isWhole: true };
}

/** Interprets a name as a whole. Returns undefined if the name is not in any vocabulary. */
function readKnown(text: string): NameReading | undefined {
  const suite = CIPHER_ALONE.test(text) ? undefined : findSuite(text);
  if (suite !== undefined) return { ...nothing([]), mentions: suiteMentions(suite), isWhole: true, isSuite: true };
  const among = suiteInText(text);
  if (among !== undefined) return { ...nothing([]), mentions: among, isWhole: true, isSuite: true };
  const known =
    findKnownName(text) ??
    findShortened(text, fragmentOf(text)) ??
    findShortened(text, withoutPrefix(text)) ??
    findShortened(text, text.replace(MAJOR_VERSION, '')) ??
    findShortened(text, CRYPT_PREFIX.exec(text)?.[0] ?? text);
  if (known === undefined) return undefined;
  if (known.means === null) return { ...nothing([]), isNoAlgorithm: true };
  return { ...readWords(known.means), isWhole: true };
}

function findShortened(text: string, short: string): ReturnType<typeof findKnownName> {
  return short.length === text.length ? undefined : findKnownName(short);
}

function withoutPrefix(text: string): string {
  return text.replace(PREFIX, '');
}

/** Returns the last part of a URI, which names the algorithm in XML Signature and related standards. */
function fragmentOf(text: string): string {
  if (!text.includes('://')) return text;
  const path = text.endsWith('#') || text.endsWith('/') ? text.slice(0, -1) : text;
  return path.slice(Math.max(path.lastIndexOf('#'), path.lastIndexOf('/')) + 1);
}

/** Returns the name, with the object identifier at its end replaced by the registered name. Other names are returned unchanged. */
function withOidNamed(text: string): string {
  const at = Math.max(...BEFORE_OID.map((separator) => text.lastIndexOf(separator)));
  const last = text.slice(at + 1, text.endsWith(')') ? -1 : undefined);
  const found = at > 0 && last.includes('.') ? findByOid(last) : undefined;
  return found === undefined ? text : `${text.slice(0, at)} ${found.name}`;
}

function readWords(name: string): NameReading {
  const text = withOidNamed(name.replace(EQUIVALENT, ''));
  const curve = findCurve(text);
  const gss = GSS.exec(text)?.[1];
  if (gss !== undefined) return readName(ownProperty(GSS_METHODS, gss) ?? gss);
  const fragment = fragmentOf(text);
  const tokens = tokensOf(curve === undefined ? withoutPrefix(fragment) : text);
  const read = mentionsOf(tokens);
  const mentions = meantBy(read, fragment).map(asScheme);
  return {
    mentions,
    unread: read.unread,
    mayBePublicKey: looksLikePublicKey(read, tokens),
    isNoAlgorithm: false,
    isWhole: curve !== undefined || isWhole(read, tokens),
    isSuite: false,
  };
}

/** SSH names of the key exchange groups in the methods of RFC 4462 and RFC 8732. */
const GSS_METHODS: Readonly<Record<string, string>> = {
  'group1-sha1': 'diffie-hellman-group1-sha1',
  'group14-sha1': 'diffie-hellman-group14-sha1',
  'group14-sha256': 'diffie-hellman-group14-sha256',
  'group15-sha512': 'diffie-hellman-group15-sha512',
  'group16-sha512': 'diffie-hellman-group16-sha512',
  'group17-sha512': 'diffie-hellman-group17-sha512',
  'group18-sha512': 'diffie-hellman-group18-sha512',
  'gex-sha1': 'diffie-hellman-group-exchange-sha1',
  'nistp256-sha256': 'ECDH P-256',
  'nistp384-sha384': 'ECDH P-384',
  'nistp521-sha512': 'ECDH P-521',
  'curve25519-sha256': 'X25519',
  'curve448-sha512': 'X448',
};

const nothing = (unread: readonly string[]): NameReading => ({
  mentions: [],
  unread,
  mayBePublicKey: false,
  isNoAlgorithm: false,
  isWhole: false,
  isSuite: false,
});

function looksLikePublicKey({ unread, mentions, isSignedWith }: Mentions, tokens: readonly NameToken[]): boolean {
  if (unread.some((word) => PUBLIC_KEY_LIKE.test(word))) return true;
  const hasPublicKey = mentions.some(({ role }) => role === 'key' || role === 'sign' || role === 'exchange');
  if (hasPublicKey) return false;
  // "SHA256withXYZ" is a signature. A name with a word for signing or key establishment also looks like a public-key algorithm.
  const hashes = mentions.some(({ role }) => role === 'hash');
  if (isSignedWith && hashes && unread.length > 0) return true;
  const saysSo = tokens.some((token) => token.kind === 'purpose' && token.purpose !== 'encryption');
  return saysSo && !mentions.some(({ role }) => role === 'mac');
}

function isWhole({ mentions, unread }: Mentions, tokens: readonly NameToken[]): boolean {
  if (mentions.length === 0 || unread.length > 0) return false;
  const hasWordsBeside = tokens.some(({ kind }) => kind === 'noise' || kind === 'list' || kind === 'unknown');
  return !hasWordsBeside && mentions.some(({ family }) => !PLAIN_WORDS.has(family));
}

/** Former names of algorithms, by standard name. */
const FORMER: Readonly<Record<string, string>> = {
  'ML-KEM': 'Kyber',
  'ML-DSA': 'Dilithium',
  'SLH-DSA': 'SPHINCS+',
  'FN-DSA': 'Falcon',
};
/** Schemes built from hashes. A hash next to one of these schemes is a parameter rather than an algorithm. */
const MADE_OF_HASHES = new Set([
  'SLH-DSA',
  'SPHINCS+',
  'XMSS',
  'XMSSMT',
  'LMS',
  'HSS',
  'ML-KEM',
  'Kyber',
  'ML-DSA',
  'Dilithium',
  'FrodoKEM',
  'Falcon',
  'BIKE',
  'HQC',
  'Picnic',
  'FAEST',
  'CROSS',
  'UOV',
  'SNOVA',
  'BLS',
  'Argon2',
  'scrypt',
  'sha-crypt',
  'VRF',
]);
/** Ciphers that do not weaken a scheme built from them. Any other cipher in a scheme is listed as an algorithm. */
const SOUND_PARTS = new Set(['AES', 'ChaCha20', 'Camellia', 'ARIA', 'SM4', 'Kuznyechik']);
/** Schemes whose name includes the cipher from which the scheme is built. Next to any other scheme, a cipher is a separate algorithm. */
const MADE_OF_CIPHERS = new Set(['DRBG', 'FrodoKEM', 'Kyber', 'Dilithium', 'SPHINCS+', 'BIKE', 'Picnic', 'FAEST']);
const ON_CURVES = new Set([
  'ECDSA',
  'EdDSA',
  'ECDH',
  'XDH',
  'ECIES',
  'ECMQV',
  'ElGamal',
  'SM2',
  'SM9',
  'GOST',
  'KCDSA',
  'Schnorr',
  'DSTU4145',
  'VRF',
  'BLS',
  'BN',
  'ECNR',
]);

/** Returns the mentions that are algorithms. Removes repetitions, former names and parameters of other algorithms. */
function meantBy({ mentions }: Mentions, text: string): readonly Mention[] {
  const families = new Set(mentions.map(({ family }) => family));
  const former = new Set(Object.entries(FORMER).flatMap(([now, once]) => (families.has(now) ? [once] : [])));
  const madeOfHashes = [...families].some((family) => MADE_OF_HASHES.has(family));
  const madeOfCiphers = [...families].some((family) => MADE_OF_CIPHERS.has(family));
  const onCurve = [...families].some((family) => ON_CURVES.has(family));
  const namedKdf = mentions.some(({ role, family }) => role === 'kdf' && !VAGUE_KDFS.has(family));
  const derivesOnly = mentions.every(({ role }) => role === 'kdf' || role === 'hash');
  const isVague = ({ family, curveBits }: Mention) =>
    (family === 'KEYSTORE' && families.size > 1) || (family === 'EC' && onCurve && curveBits === null);
  const kept = mentions.filter((mention) => {
    const { family, role } = mention;
    const again = saidAgainBy(mention, mentions);
    if (again !== undefined) addTo(again, mention);
    if (former.has(family) || again !== undefined || isVague(mention)) return false;
    if (family === 'MGF1') return derivesOnly;
    if (family === 'KDF') return !namedKdf && derivesOnly;
    if (madeOfHashes && role === 'hash') return false;
    if (madeOfCiphers && role === 'cipher' && SOUND_PARTS.has(family)) return false;
    return role !== 'hash' || !isBehindMaskGeneration(mention, mentions);
  });
  for (const mention of kept) mention.param ??= parameterSetIn(mention, text);
  return kept;
}

/** Returns Curve25519 as Ed25519 if it is used for signatures. */
function asScheme(mention: Mention): Mention {
  const signs = mention.family === 'XDH' && mention.purpose === 'signature';
  return signs ? { ...mention, family: 'EdDSA', role: 'sign' } : mention;
}

/**
 * Returns another mention of the same algorithm that is kept instead of this mention. The module and the type in `aes_gcm::Aes256Gcm` are one algorithm; the
 * more specific mention is kept.
 */
function saidAgainBy(mention: Mention, mentions: readonly Mention[]): Mention | undefined {
  return mentions.find((other) => {
    if (other === mention || other.part !== mention.part) return false;
    if (other.family !== mention.family) return isWiderWord(mention, other);
    return hasNoSize(mention)
      ? !hasNoSize(other) || other.at < mention.at
      : other.at < mention.at && sizesOf(other) === sizesOf(mention);
  });
}

/** Adds the facts of a removed mention to the kept mention, because the facts apply to the same algorithm: `ecb::Encryptor<aes::Aes128>`. */
function addTo(kept: Mention, { mode, padding, purpose, isReduced, role }: Mention): void {
  if (kept.role !== role) return;
  kept.mode ??= mode;
  kept.padding ??= padding;
  kept.purpose ??= purpose;
  kept.isReduced ||= isReduced;
}

const sizesOf = ({ bits, curveBits, param }: Mention) => `${bits} ${curveBits} ${param}`;

/**
 * Reports whether the mention is only a broader word for the other mention. Next to 3DES and XChaCha20, DES and ChaCha20 are package names. Next to X25519,
 * ECDH indicates the purpose.
 */
function isWiderWord(mention: Mention, other: Mention): boolean {
  const pair = `${mention.family} ${other.family}`;
  return (
    pair === 'DES 3DES' ||
    pair === 'XChaCha12 Adiantum' ||
    pair === 'ChaCha20 XChaCha20' ||
    pair === 'DSA SM2' ||
    pair === 'DH SIDH' ||
    pair === 'DH CSIDH' ||
    pair === 'S2K Argon2' ||
    (pair === 'ECDH XDH' && hasNoSize(mention))
  );
}

const VAGUE_KDFS = new Set(['KDF', 'MGF1', 'PBE']);

function isBehindMaskGeneration({ at }: Mention, mentions: readonly Mention[]): boolean {
  return mentions.some((other) => other.family === 'MGF1' && other.at < at && at - other.at <= 2);
}

/** Returns the SLH-DSA parameter set (FIPS 205) in a text: hash, size, and `s` or `f` for small or fast signatures. */
function parameterSetIn({ family }: Mention, text: string): string | null {
  if (family !== 'SLH-DSA') return null;
  const set = /(sha2|shake)[-_ ]?(128|192|256)[-_ ]?([sf])/i.exec(text);
  return set === null ? null : `${set[1]?.toUpperCase()}-${set[2]}${set[3]?.toLowerCase()}`;
}
