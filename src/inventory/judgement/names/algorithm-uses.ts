import { ownProperty } from '../../../formats/encoding/own-property.js';
import type { AlgorithmUse } from '../../model/risk-subject.js';
import { findCurve } from '../vocabularies/object-identifiers.js';
import { type Hybrid, hybridOf } from './hybrids.js';
import type { Mention } from './name-mentions.js';
import { type NameReading, readName } from './name-reading.js';
import { type DeclaredAlgorithm, type MentionContext, publicKeyPurposeOf, usageOf } from './use-purposes.js';

/** ReadAlgorithm contains the algorithms to which a name and its declared properties refer. */
export interface ReadAlgorithm {
  readonly uses: readonly AlgorithmUse[];
  readonly reading: NameReading;
}

const NOTHING_DECLARED: DeclaredAlgorithm = {};
/** CycloneDX primitives that imply a public-key algorithm. */
const PUBLIC_KEY_PRIMITIVES = new Set(['signature', 'pke', 'kem', 'key-agree']);

export function readAlgorithm(name: string, declared: DeclaredAlgorithm = NOTHING_DECLARED): ReadAlgorithm {
  const reading = withDeclaredFamily(readName(name), declared);
  const { mentions } = reading;
  const hybrid = hybridOf(name, mentions);
  const kept = hybrid === undefined ? mentions : mentions.filter((mention) => isBesideHybrid(mention, hybrid));
  const context = { all: mentions, declared, isSuite: reading.isSuite, set: readSet(declared) };
  const uses = kept.map((mention) => useOf(mention, context));
  if (hybrid !== undefined) {
    const { name: hybridName, purpose, param } = hybrid;
    const parts = mentions
      .filter((mention) => isPartOfHybrid(mention, hybrid))
      .map((mention) => useOf(mention, context));
    uses.unshift({ ...blank({ family: 'hybrid', hybrid: hybridName, purpose, param }), parts });
  }
  return { uses, reading: { ...reading, mayBePublicKey: mayBePublicKey(reading, declared) } };
}

/** Reports whether a mention is not part of the hybrid, as for ciphers, MACs, and a signature next to a key exchange. */
function isBesideHybrid({ nature, role, purpose }: Mention, { purpose: of }: Hybrid): boolean {
  if (nature === undefined) return role !== 'hash';
  return of === 'key-establishment' && (role === 'sign' || (role === 'key' && purpose === 'signature'));
}

function isPartOfHybrid(mention: Mention, hybrid: Hybrid): boolean {
  return mention.nature !== undefined && !isBesideHybrid(mention, hybrid);
}

/** Returns the facts in a parameter set that is written as a full name (`AES-256-CTR`, `modp768`), or an empty list for a number or word. */
function readSet({ parameterSetIdentifier: set }: DeclaredAlgorithm): readonly Mention[] {
  return set === undefined || !/[a-z]/i.test(set) || !/\d/.test(set) ? [] : readName(set).mentions;
}

/** algorithmUsesOf returns the algorithms to which a name refers, or an empty list if no algorithm is recognized. */
export function algorithmUsesOf(name: string, declared: DeclaredAlgorithm = NOTHING_DECLARED): readonly AlgorithmUse[] {
  return readAlgorithm(name, declared).uses;
}

/** Interprets a name without known algorithms as the declared family. */
function withDeclaredFamily(reading: NameReading, { algorithmFamily }: DeclaredAlgorithm): NameReading {
  if (reading.mentions.length > 0 || algorithmFamily === undefined) return reading;
  const byFamily = readName(algorithmFamily);
  return byFamily.mentions.length > 0 ? { ...byFamily, isWhole: false } : reading;
}

/**
 * Reports whether the algorithm may have a public key, according to its name or its declared primitive. If only the hash of a declared signature was
 * recognized, the signature must not be classified as safe.
 */
function mayBePublicKey(
  { mentions, mayBePublicKey: byName, isNoAlgorithm }: NameReading,
  { primitive }: DeclaredAlgorithm,
): boolean {
  if (byName) return !isDeclaredSymmetric(mentions, primitive);
  if (isNoAlgorithm || !PUBLIC_KEY_PRIMITIVES.has(primitive ?? '')) return false;
  return !mentions.some(({ nature, family }) => nature !== undefined || UNPROTECTED.has(family));
}

/** Roles by declared primitive. A declared primitive is trusted only if the name contains at least one of its roles. */
const SYMMETRIC_ROLES: Readonly<Record<string, readonly string[]>> = {
  mac: ['mac', 'hash', 'cipher'],
  kdf: ['kdf'],
  drbg: ['random'],
  'block-cipher': ['cipher'],
  'stream-cipher': ['cipher'],
  ae: ['cipher'],
};

/**
 * Reports whether the algorithm is declared as symmetric and its name does not contradict the declaration. A word such as "signing" next to HMAC-SHA256 then
 * does not indicate a signature.
 */
function isDeclaredSymmetric(mentions: readonly Mention[], primitive: string | undefined): boolean {
  const roles = ownProperty(SYMMETRIC_ROLES, primitive ?? '');
  return roles !== undefined && mentions.some(({ role }) => roles.includes(role));
}

/** Families that provide no protection, regardless of their use. */
const UNPROTECTED = new Set(['NULL', 'anonymous']);

interface UseContext extends MentionContext {
  /** Facts in the declared parameter set. */
  readonly set: readonly Mention[];
}

function useOf(named: Mention, context: UseContext): AlgorithmUse {
  const mention = withSet(named, context.set);
  const { family, role, nature, sizes, mode, padding } = mention;
  const { all, declared } = context;
  return blank({
    family: schemeOf(mention, all),
    bits: mention.bits ?? declaredBits(mention, context),
    curveBits: sizes === 'curve' ? (mention.curveBits ?? declaredCurve(declared)) : null,
    param: mention.param ?? (hasParameterSet(mention) && sizes !== 'light' ? declaredParam(declared) : null),
    purpose: nature === undefined ? 'unknown' : publicKeyPurposeOf(mention, context),
    usage: usageOf(mention, context),
    mode: role === 'cipher' ? (mode ?? declaredWord(declared.mode)) : null,
    padding: family === 'RSA' ? (padding ?? declaredWord(declared.padding)) : null,
    hash: role === 'mac' ? (all.find((other) => other.role === 'hash')?.family ?? null) : null,
  });
}

/** Adds the facts in the parameter set about the same algorithm. Facts in the name take precedence. */
function withSet(mention: Mention, set: readonly Mention[]): Mention {
  const same = set.find(
    ({ family, curveBits }) => family === mention.family || (mention.sizes === 'curve' && curveBits !== null),
  );
  if (same === undefined) return mention;
  const isSized = mention.bits !== null || mention.curveBits !== null || mention.param !== null;
  const { bits, curveBits, param } = isSized ? mention : same;
  return { ...mention, bits, curveBits, param, mode: mention.mode ?? same.mode };
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

/** Returns the scheme, which a name can express with a broader word: EC_SIGN_P256_SHA256 is ECDSA, and PBEWithMD5AndDES is PBES1 (PKCS #5). */
function schemeOf(mention: Mention, all: readonly Mention[]): string {
  if (mention.family === 'EC' && mention.purpose === 'signature') return 'ECDSA';
  return mention.family === 'PBE' ? passwordScheme(all) : mention.family;
}

/** Returns the password-based encryption scheme, which is recognized by its cipher. The ciphers of PBES1 are not used in PBES2 (RFC 8018 section 6). */
function passwordScheme(all: readonly Mention[]): string {
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
  return (
    family === 'SLH-DSA' ||
    sizes === 'light' ||
    sizes === 'mlkem' ||
    sizes === 'mldsa' ||
    sizes === 'level' ||
    sizes === 'falcon'
  );
}

function declaredParam({ parameterSetIdentifier: set }: DeclaredAlgorithm): string | null {
  return set?.replace(/^(?:ML|SLH)-(?:KEM|DSA)-/i, '') ?? null;
}

function declaredWord(word: string | undefined): string | null {
  return word === undefined || word === 'other' || word === 'unknown' ? null : word.toLowerCase();
}

/** Returns the number at the end of a declared parameter set, such as 2048 or RSA-2048. */
function declaredNumber({ parameterSetIdentifier: set }: DeclaredAlgorithm): number | null {
  const digits = /^(?:[A-Za-z0-9]{0,12}[-_ ])?(\d{1,6})(?:[- ]?bits?)?$/.exec(set?.trim() ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Returns the parameter set as a size, if it can be a size of this algorithm: for SHA512withRSA, "512" is the size of the digest, not of the key. */
function declaredBits(mention: Mention, { all, declared }: MentionContext): number | null {
  const value = declaredNumber(declared);
  if (value === null) return null;
  const { sizes, role } = mention;
  if (sizes === 'digest') return value <= 512 && value >= 128 ? value : null;
  if (sizes !== 'modulus' && sizes !== 'aes' && sizes !== 'cipher' && sizes !== 'light') return null;
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

/** Returns the size in a curve name. Names of unregistered curves usually include the size. A bare number is also accepted. */
function sizeOfCurve(name: string): number | null {
  const digits = /^(?:[a-z][a-z -]{0,30})?(\d{3})(?!\d)/i.exec(name)?.[1];
  const bits = digits === undefined ? 0 : Number(digits);
  return bits >= 112 && bits <= 640 ? bits : null;
}
