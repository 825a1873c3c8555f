import type { AlgorithmUse, Purpose } from '../model/risk-subject.js';
import { findFamily } from '../vocabularies/families.js';
import { findCurve } from '../vocabularies/object-identifiers.js';
import { type Hybrid, hybridOf } from './hybrids.js';
import type { Mention } from './name-mentions.js';
import { type NameReading, readName } from './name-reading.js';

/** Facts that are declared about an algorithm beside its name (CycloneDX `algorithmProperties`). */
export interface DeclaredAlgorithm {
  readonly primitive?: string;
  readonly parameterSetIdentifier?: string;
  readonly curve?: string;
  /** CycloneDX 1.7 says the family and the curve by names of its own registry: `secg/secp521r1`. */
  readonly ellipticCurve?: string;
  readonly algorithmFamily?: string;
  readonly mode?: string;
  readonly padding?: string;
  readonly cryptoFunctions?: readonly string[];
}

/** The algorithms that a name and what is declared beside it stand for. */
export interface ReadAlgorithm {
  readonly uses: readonly AlgorithmUse[];
  readonly reading: NameReading;
}

const NOTHING_DECLARED: DeclaredAlgorithm = {};
/** Primitives of CycloneDX that only a public-key algorithm has. */
const PUBLIC_KEY_PRIMITIVES = new Set(['signature', 'pke', 'kem', 'key-agree']);

export function readAlgorithm(name: string, declared: DeclaredAlgorithm = NOTHING_DECLARED): ReadAlgorithm {
  const reading = withDeclaredFamily(readName(name), declared);
  const { mentions } = reading;
  const hybrid = hybridOf(name, mentions);
  const kept = hybrid === undefined ? mentions : mentions.filter((mention) => isBesideHybrid(mention, hybrid));
  const uses = kept.map((mention) => useOf(mention, { all: mentions, declared, isSuite: reading.isSuite }));
  if (hybrid !== undefined)
    uses.unshift(blank({ family: 'hybrid', hybrid: hybrid.name, purpose: hybrid.purpose, param: hybrid.param }));
  return { uses, reading: { ...reading, mayBePublicKey: mayBePublicKey(reading, declared) } };
}

/** What is no part of a hybrid: ciphers and MACs, and the signature beside a key exchange. */
function isBesideHybrid({ nature, role, purpose }: Mention, { purpose: of }: Hybrid): boolean {
  if (nature === undefined) return role !== 'hash';
  return of === 'key-establishment' && (role === 'sign' || (role === 'key' && purpose === 'signature'));
}

/** The algorithms that a name stands for; empty when nothing is recognized. */
export function algorithmUsesOf(name: string, declared: DeclaredAlgorithm = NOTHING_DECLARED): readonly AlgorithmUse[] {
  return readAlgorithm(name, declared).uses;
}

/** A name that says nothing is read by the family that is declared beside it. */
function withDeclaredFamily(reading: NameReading, { algorithmFamily }: DeclaredAlgorithm): NameReading {
  if (reading.mentions.length > 0 || algorithmFamily === undefined) return reading;
  const byFamily = readName(algorithmFamily);
  return byFamily.mentions.length > 0 ? { ...byFamily, isWhole: false } : reading;
}

/** A primitive says as much as a word: a signature of which only the hash was read is not safe. */
function mayBePublicKey(
  { mentions, mayBePublicKey: byName, isNoAlgorithm }: NameReading,
  { primitive }: DeclaredAlgorithm,
): boolean {
  if (byName) return true;
  if (isNoAlgorithm || !PUBLIC_KEY_PRIMITIVES.has(primitive ?? '')) return false;
  return !mentions.some(({ nature }) => nature !== undefined);
}

interface Context {
  readonly all: readonly Mention[];
  readonly declared: DeclaredAlgorithm;
  readonly isSuite: boolean;
}

function useOf(mention: Mention, context: Context): AlgorithmUse {
  const { family, role, nature } = mention;
  const { all, declared } = context;
  const hash = all.find((other) => other.role === 'hash');
  return blank({
    family: passwordScheme(mention, all),
    bits: mention.bits ?? declaredBits(mention, context),
    curveBits: mention.sizes === 'curve' ? (mention.curveBits ?? declaredCurve(declared)) : null,
    param: hasParameterSet(mention) ? (mention.param ?? declaredParam(declared)) : null,
    purpose: nature === undefined ? 'unknown' : purposeOf(mention, context),
    usage: usageOf(mention, context),
    mode: role === 'cipher' ? (mention.mode ?? declaredWord(declared.mode)) : null,
    padding: family === 'RSA' ? (mention.padding ?? declaredWord(declared.padding)?.toLowerCase() ?? null) : null,
    hash: role === 'mac' ? (hash?.family ?? null) : null,
  });
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

/** Schemes of PKCS #5 and PKCS #12 by what they encrypt with: ciphers of their first version are none of the second (RFC 8018 section 6). */
function passwordScheme({ family }: Mention, all: readonly Mention[]): string {
  if (family !== 'PBE') return family;
  const hasMac = all.some(({ role }) => role === 'mac');
  const isOld = all.some((other) => other.role === 'cipher' && other.family in OLD_CIPHERS);
  return isOld && !hasMac ? 'PBES1' : 'PBES2';
}

const OLD_CIPHERS: Readonly<Record<string, true>> = {
  DES: true,
  '3DES': true,
  RC2: true,
  RC4: true,
  CAST5: true,
  IDEA: true,
  XOR: true,
};

function hasParameterSet({ family, sizes }: Mention): boolean {
  return family === 'SLH-DSA' || sizes === 'mlkem' || sizes === 'mldsa' || sizes === 'level' || sizes === 'falcon';
}

function declaredParam({ parameterSetIdentifier: set }: DeclaredAlgorithm): string | null {
  return set?.replace(/^(?:ML|SLH)-(?:KEM|DSA)-/i, '') ?? null;
}

function declaredWord(word: string | undefined): string | null {
  return word === undefined || word === 'other' || word === 'unknown' ? null : word;
}

/** The number at the end of a declared parameter set: 2048, or RSA-2048. */
function declaredNumber({ parameterSetIdentifier: set }: DeclaredAlgorithm): number | null {
  const digits = /^(?:[A-Za-z0-9]{0,12}[-_ ])?(\d{1,6})(?: ?bits?)?$/.exec(set?.trim() ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
}

/** The parameter set is a size only where it can be one: beside SHA512withRSA, "512" is the digest. */
function declaredBits(mention: Mention, { all, declared }: Context): number | null {
  const value = declaredNumber(declared);
  if (value === null) return null;
  const { sizes, role } = mention;
  if (sizes === 'digest') return value <= 512 && value >= 128 ? value : null;
  if (sizes !== 'modulus' && sizes !== 'aes' && sizes !== 'cipher') return null;
  const isDigest = role !== 'hash' && all.some((other) => other.role === 'hash' && other.bits === value);
  return isDigest || (sizes === 'modulus' && value < 384) ? null : value;
}

function declaredCurve(declared: DeclaredAlgorithm): number | null {
  for (const text of [declared.curve, declared.ellipticCurve, declared.parameterSetIdentifier]) {
    if (text === undefined) continue;
    const name = text.slice(text.indexOf('/') + 1);
    const bits = findCurve(name)?.bits ?? findCurve(text)?.bits ?? sizeOfCurve(name);
    if (bits !== null) return bits;
  }
  return null;
}

/** A curve that no registry names mostly says its size; so does a bare number. */
function sizeOfCurve(name: string): number | null {
  const digits = /^(?:[a-z][a-z -]{0,30})?(\d{3})(?!\d)/i.exec(name)?.[1];
  const bits = digits === undefined ? 0 : Number(digits);
  return bits >= 112 && bits <= 640 ? bits : null;
}

function purposeOf(mention: Mention, { all, declared, isSuite }: Context): Purpose {
  if (mention.role === 'sign') return mention.purpose === 'key-establishment' ? 'key-establishment' : 'signature';
  if (mention.role === 'exchange') return 'key-establishment';
  if (isSuite) return mention.purpose ?? 'unknown';
  const signsHash = all.some(({ role }) => role === 'hash') && mention.padding !== 'oaep';
  if (mention.padding === 'oaep') return 'encryption';
  if (mention.padding === 'pss') return 'signature';
  if (mention.purpose === 'signature' || declared.primitive === 'signature') return 'signature';
  if (signsHash && mention.purpose === 'encryption' && declared.primitive !== 'pke') return 'signature';
  if (mention.purpose !== null) return mention.purpose;
  return declaredPurpose(declared) ?? (signsHash && declared.primitive !== 'pke' ? 'signature' : 'unknown');
}

function declaredPurpose({ cryptoFunctions, primitive }: DeclaredAlgorithm): Purpose | undefined {
  const does = (...names: string[]) => names.some((one) => cryptoFunctions?.includes(one) === true);
  if (does('encrypt', 'decrypt')) return 'encryption';
  if (does('encapsulate', 'decapsulate') || primitive === 'kem' || primitive === 'key-agree')
    return 'key-establishment';
  if (primitive === 'pke') return 'encryption';
  return does('sign', 'verify') ? 'signature' : undefined;
}

/** The scheme that a hash or a cipher serves: a signature, a MAC, a key derivation; null for none. */
function usageOf({ role }: Mention, { all, declared: { primitive } }: Context): AlgorithmUse['usage'] {
  const has = (...roles: string[]) => all.some((other) => roles.includes(other.role));
  if (role === 'cipher') return all.some(({ family }) => CIPHER_MACS.has(family)) && !isEncrypting(all) ? 'mac' : null;
  if (role !== 'hash') return null;
  if (has('mac') || primitive === 'mac') return 'mac';
  if (has('kdf', 'random') || primitive === 'kdf') return 'kdf';
  const withKey = all.some(
    (other) => other.role === 'sign' || (other.role === 'key' && other.purpose !== 'key-establishment'),
  );
  // OAEP needs no collision resistance of its hash.
  if (withKey && (primitive === 'pke' || all.some(({ padding }) => padding === 'oaep'))) return 'kdf';
  if (withKey || primitive === 'signature') return 'signature';
  if (has('exchange', 'key')) return 'kdf';
  return has('cipher') ? 'mac' : null;
}

/** MACs that are made of a cipher. */
const CIPHER_MACS = new Set(['CMAC', 'GMAC', 'XCBC', 'CBC-MAC']);

function isEncrypting(all: readonly Mention[]): boolean {
  return all.some(({ role, mode }) => role === 'cipher' && mode !== null);
}

const ROLES = ['cipher', 'hash', 'mac', 'kdf'] as const;
type Role = (typeof ROLES)[number];

/** The use of an algorithm: its purpose if it has a public key, else its role. */
export type CryptoUse = Purpose | Role;

export function cryptoUseOf({ family, purpose }: Pick<AlgorithmUse, 'family' | 'purpose'>): CryptoUse {
  if (purpose !== 'unknown') return purpose;
  const role = findFamily(family)?.role;
  return ROLES.find((one) => one === role) ?? 'unknown';
}

/** In this order an asset is named by its parts: what has a key, then what only supports it. */
const RANK: Readonly<Record<string, number>> = {
  exchange: 0,
  key: 1,
  sign: 1,
  cipher: 2,
  random: 2,
  other: 3,
  kdf: 3,
  mac: 4,
  hash: 5,
};

/** The algorithm that an asset is listed under: its own, not that of a part that weakens it. */
export function mainUse(uses: readonly AlgorithmUse[]): AlgorithmUse | undefined {
  const rank = ({ family, hybrid, usage }: AlgorithmUse) => {
    if (hybrid !== null) return -1;
    return (RANK[findFamily(family)?.role ?? 'other'] ?? 3) + (usage === null ? 0 : 10);
  };
  return uses.reduce<AlgorithmUse | undefined>(
    (best, use) => (best === undefined || rank(use) < rank(best) ? use : best),
    undefined,
  );
}
