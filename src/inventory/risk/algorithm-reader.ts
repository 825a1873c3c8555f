import { ALGORITHM_PATTERNS, type AlgorithmPattern, HYBRIDS } from './algorithm-patterns.js';
import type { AlgorithmUse, Purpose } from '../model/risk-subject.js';

/** Facts that are declared about an algorithm beside its name (CycloneDX `algorithmProperties`). */
export interface DeclaredAlgorithm {
  readonly primitive?: string;
  readonly parameterSetIdentifier?: string;
  readonly curve?: string;
  readonly mode?: string;
  readonly padding?: string;
  readonly cryptoFunctions?: readonly string[];
}

interface Match {
  readonly pattern: AlgorithmPattern;
  readonly size: string | null;
  readonly at: number;
}

/** Families whose size is that of the key. */
const SIZED_BY_KEY = new Set(['RSA', 'DSA', 'DH', 'ElGamal', 'AES', 'Camellia', 'Twofish', 'Serpent']);
const SIZED_BY_DIGEST = new Set(['SHA-2', 'SHA-3', 'SHAKE', 'BLAKE2', 'BLAKE3', 'RIPEMD', 'KMAC']);
const SIZED_BY_SET = new Set(['ML-KEM', 'ML-DSA', 'SLH-DSA', 'Kyber', 'Dilithium']);
const ON_CURVES = new Set(['EC', 'ECDSA', 'EdDSA', 'ECDH', 'ECMQV', 'XDH', 'ECIES']);
const PUBLIC_KEY = new Set(['RSA', 'EC', 'DSA', 'ECDSA', 'EdDSA', 'SM2', 'SM9', 'GOST', 'BLS', 'ML-DSA']);

/** The algorithms that a name and what is declared beside it stand for; empty when nothing is recognized. */
export function algorithmUsesOf(name: string, declared: DeclaredAlgorithm = {}): AlgorithmUse[] {
  const hybrid = HYBRIDS.find((known) => bare(name).includes(bare(known)));
  if (hybrid !== undefined) return [blank({ family: 'hybrid', hybrid, purpose: 'key-establishment' })];
  const matches = matchesOf(name);
  if (matches.length === 0 && CURVE_ALONE.test(name)) return [curveAlone(name, declared)];
  if (isCompositeSignature(matches))
    return [blank({ family: 'hybrid', hybrid: 'composite-signature', purpose: 'signature' })];
  const kept = meantBy(matches, declared);
  return kept.map((match) => ingredientOf(match, kept, name, declared));
}

/** A key that is named by its curve. */
const CURVE_ALONE = /^(?:sec[pt]\d{3}[rk]\d|prime\d{3}v\d|brainpool-?p\d{3}[rt]\d|(?:nist[-_ ]?)?p-?\d{3})$/i;

function curveAlone(name: string, { primitive }: DeclaredAlgorithm): AlgorithmUse {
  return blank({
    family: 'EC',
    curveBits: curveBitsOf(name),
    purpose: primitive === 'signature' ? 'signature' : 'unknown',
  });
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

function blank(more: Partial<AlgorithmUse> & { family: string }): AlgorithmUse {
  const nothing = {
    bits: null,
    curveBits: null,
    param: null,
    usage: null,
    mode: null,
    padding: null,
    hash: null,
    hybrid: null,
  };
  return { ...nothing, purpose: 'unknown', ...more };
}

function matchesOf(name: string): Match[] {
  const matches: Match[] = [];
  let rest = name.slice(0, 300);
  for (const pattern of ALGORITHM_PATTERNS) {
    const found = pattern.pattern.exec(rest);
    if (found === null) continue;
    matches.push({ pattern, size: found.slice(1).find((group) => group !== undefined) ?? null, at: found.index });
    // Blanks keep the places of the rest, and are no letters that could make a new word.
    rest = rest.slice(0, found.index) + ' '.repeat(found[0].length) + rest.slice(found.index + found[0].length);
  }
  return matches;
}

/** draft-ietf-lamps-pq-composite-sigs: ML-DSA together with RSA, ECDSA or EdDSA. */
function isCompositeSignature(matches: readonly Match[]): boolean {
  const families = new Set(matches.map(({ pattern }) => pattern.family));
  return families.has('ML-DSA') && ['RSA', 'ECDSA', 'EdDSA'].some((classical) => families.has(classical));
}

/**
 * Parts of a name that are no algorithms of their own: the hash of OAEP and MGF1, that of a KDF (a MAC inside it is meant), the
 * key-derivation word beside a KDF that has a name.
 */
function meantBy(matches: readonly Match[], { primitive }: DeclaredAlgorithm): Match[] {
  const families = new Set(matches.map(({ pattern }) => pattern.family));
  const named = matches.some(({ pattern }) => pattern.role === 'kdf' && pattern.family !== 'KDF');
  return matches.filter(({ pattern: { family, role } }) => {
    if (family === 'KDF')
      return !named && matches.every(({ pattern }) => pattern.family === 'KDF' || pattern.role === 'hash');
    if (family === 'EC')
      return !['ECDSA', 'ECDH', 'EdDSA', 'XDH', 'ECIES', 'ECMQV'].some((other) => families.has(other));
    if (family === 'MGF1') return families.size === 1 || primitive !== 'pke';
    if (role === 'hash' && families.has('DRBG')) return false;
    return true;
  });
}

function ingredientOf(match: Match, all: readonly Match[], name: string, declared: DeclaredAlgorithm): AlgorithmUse {
  const { family, role, size, bits } = match.pattern;
  const purpose = purposeOf(match, all, name, declared);
  const hash = all.find(({ pattern }) => pattern.role === 'hash');
  return blank({
    family,
    bits: bits ?? (size === 'bits' ? number(match.size) : null) ?? declaredBits(match, all, declared),
    curveBits: ON_CURVES.has(family)
      ? (curveBitsOf(declared.curve) ?? curveBitsOf(name) ?? parameterAsCurve(declared))
      : null,
    param: SIZED_BY_SET.has(family) ? paramOf(match, declared) : null,
    purpose,
    usage: role === 'hash' ? usageOf(all, declared) : null,
    mode: role === 'cipher' ? modeOf(name, declared) : null,
    padding: family === 'RSA' ? paddingOf(name, declared) : null,
    hash: role === 'mac' ? (hash?.pattern.family ?? null) : null,
  });
}

function paramOf(match: Match, declared: DeclaredAlgorithm): string | null {
  return match.size ?? declared.parameterSetIdentifier?.replace(/^(?:ML|SLH)-(?:KEM|DSA)-/i, '') ?? null;
}

/** The parameter set is a size only where it can be one: beside SHA512withRSA, "512" is the digest. */
function declaredBits(
  match: Match,
  all: readonly Match[],
  { parameterSetIdentifier: set }: DeclaredAlgorithm,
): number | null {
  const value = number(set ?? null);
  if (value === null) return null;
  const { family } = match.pattern;
  const digests = all.filter(({ pattern }) => pattern.role === 'hash');
  if (SIZED_BY_DIGEST.has(family)) return value <= 512 && value >= 128 ? value : null;
  if (!SIZED_BY_KEY.has(family)) return null;
  const isDigest = digests.some(({ size, pattern }) => number(size) === value || pattern.bits === value);
  if (isDigest || (['RSA', 'DSA', 'DH', 'ElGamal'].includes(family) && value < 384)) return null;
  return value;
}

function parameterAsCurve({ parameterSetIdentifier: set }: DeclaredAlgorithm): number | null {
  const named = curveBitsOf(set);
  if (named !== null) return named;
  const bits = number(set ?? null);
  return bits !== null && bits >= 112 && bits <= 640 ? bits : null;
}

function purposeOf({ pattern }: Match, all: readonly Match[], name: string, declared: DeclaredAlgorithm): Purpose {
  if (pattern.role === 'signature') return 'signature';
  if (pattern.role === 'exchange') return 'key-establishment';
  if (!PUBLIC_KEY.has(pattern.family)) return 'unknown';
  const byName = purposeInName(name, declared);
  if (byName !== undefined) return byName;
  const functions = new Set(declared.cryptoFunctions);
  const does = (...names: string[]) => names.some((one) => functions.has(one));
  if (does('encrypt', 'decrypt')) return 'encryption';
  if (does('encapsulate', 'decapsulate') || ['kem', 'key-agree'].includes(declared.primitive ?? ''))
    return 'key-establishment';
  if (does('sign', 'verify')) return 'signature';
  return all.some(({ pattern: other }) => other.role === 'hash') && declared.primitive !== 'pke'
    ? 'signature'
    : 'unknown';
}

const SIGNS = /PSS|SSA|SIGN|WITH(?=RSA|EC|DSA)|(?<![A-Z0-9])[RP]S(?:256|384|512)/i;
const ENCRYPTS = /OAEP|KEM|RSA1_5|RSAES/i;

function purposeInName(name: string, { primitive }: DeclaredAlgorithm): Purpose | undefined {
  if (SIGNS.test(name) || primitive === 'signature') return 'signature';
  return ENCRYPTS.test(name) ? 'encryption' : undefined;
}

/** The scheme that a hash serves: a signature, a MAC, a key derivation; null for none. */
function usageOf(all: readonly Match[], { primitive }: DeclaredAlgorithm): AlgorithmUse['usage'] {
  const roles = new Set(all.map(({ pattern }) => pattern.role));
  if (roles.has('mac') || primitive === 'mac') return 'mac';
  if (roles.has('kdf') || primitive === 'kdf') return 'kdf';
  const withKey = all.some(({ pattern }) => PUBLIC_KEY.has(pattern.family));
  // OAEP needs no collision resistance of its hash.
  if (withKey && primitive === 'pke') return 'kdf';
  return withKey || primitive === 'signature' ? 'signature' : null;
}

const MODES = /(?<![A-Z])(ECB|CBC|GCM|CCM|CTR|CFB|OFB|XTS|SIV|EAX|OCB)(?:\d{0,3})(?![A-Z])/i;

function modeOf(name: string, { mode }: DeclaredAlgorithm): string | null {
  if (mode !== undefined && !['other', 'unknown'].includes(mode)) return mode;
  return MODES.exec(name)?.[1]?.toLowerCase() ?? null;
}

function paddingOf(name: string, { padding }: DeclaredAlgorithm): string | null {
  if (padding !== undefined && !['other', 'unknown'].includes(padding)) return padding;
  if (/OAEP/i.test(name)) return 'oaep';
  if (/RSA1_5|RSAES[-_]PKCS1|PKCS1PADDING|PKCS1[-_]?V1[._]?5/i.test(name)) return 'pkcs1v15';
  return /NOPADDING/i.test(name) ? 'raw' : null;
}

function number(text: string | null): number | null {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null;
}

/** Bits of curves whose names do not end in their size. */
const NAMED: Record<string, number> = {
  curve25519: 255,
  edwards25519: 255,
  ed25519: 255,
  x25519: 255,
  curve448: 448,
  edwards448: 448,
  ed448: 448,
  x448: 448,
  goldilocks448: 448,
  e222: 222,
  e521: 521,
  m221: 221,
};
const SIZED =
  /(?:sec[pt]|prime|brainpool[-_]?p|nist[-_/ ]?[pkb]?-?|ansi[-_]?[pt]|wap-wsg.{0,30}?|wtls|oakley.{0,30}?|(?<![a-z])[pkb]-)(\d{2,3})(?!\d)/i;
/** A JOSE name stands for a curve as well as a hash (RFC 7518 section 3.4). */
const JOSE: Record<string, number> = { es256: 256, es384: 384, es512: 521, es256k: 256 };

/** Size in bits of the curve that is named in a text, or null. */
function curveBitsOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const lower = text.toLowerCase();
  const jose = JOSE[lower];
  if (jose !== undefined) return jose;
  for (const [name, bits] of Object.entries(NAMED)) if (lower.replaceAll(/[-_ ]/g, '').includes(name)) return bits;
  const sized = SIZED.exec(lower)?.[1];
  return sized === undefined ? null : Number(sized);
}
