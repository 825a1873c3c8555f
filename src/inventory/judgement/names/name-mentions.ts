import { findFamily, type FamilyNature, type FamilyRole, type FamilySizes } from '../vocabularies/families.js';
import type { WordPurpose } from '../vocabularies/name-words.js';
import type { NameToken } from './name-tokens.js';

/** Mention is one algorithm in a name, with the facts from the surrounding words. Sizes are in bits. */
export interface Mention {
  readonly family: string;
  readonly role: FamilyRole;
  readonly nature: FamilyNature | undefined;
  readonly sizes: FamilySizes | undefined;
  /** Size of the modulus, key or digest. */
  bits: number | null;
  curveBits: number | null;
  /** Number of a parameter set, such as 768 of ML-KEM or 65 of ML-DSA, or the block size of a lightweight cipher. */
  param: string | null;
  purpose: WordPurpose | null;
  mode: string | null;
  padding: string | null;
  /** Whether the hash is used to store passwords. */
  isPassword: boolean;
  /** Whether the algorithm is a variant with fewer rounds or nonstandard changes, whose strength is unknown. */
  isReduced: boolean;
  /** Index among the tokens. */
  readonly at: number;
  /** Index of the list item that contains the mention, if the name is a list. */
  readonly part: number;
}

export interface Mentions {
  readonly mentions: readonly Mention[];
  /** Words that were not recognized. */
  readonly unread: readonly string[];
  /** Whether "with" separates two mentions, which indicates a signature. */
  readonly isSignedWith: boolean;
}

/** MIN_UNREAD_LENGTH is the minimum length of an unrecognized word. Shorter words, such as the l in ML-DSA-L and single letters in versions, are ignored. */
const MIN_UNREAD_LENGTH = 3;
/** For each kind of size, a function that reports whether a number can be a size of that kind. */
const SIZES: Readonly<Record<FamilySizes, (value: number) => boolean>> = {
  modulus: (value) => value >= 384 && value <= 32_768,
  curve: (value) => value >= 112 && value <= 640,
  digest: (value) => [128, 160, 192, 224, 256, 320, 384, 512, 1024].includes(value),
  aes: (value) => [128, 160, 192, 224, 256, 384, 512].includes(value),
  cipher: (value) => [128, 192, 256, 512, 1024].includes(value),
  light: (value) => [64, 72, 80, 96, 128, 144, 160, 192, 256].includes(value),
  mlkem: (value) => [512, 768, 1024].includes(value),
  mldsa: (value) => [44, 65, 87].includes(value),
  level: (value) => value >= 2 && value <= 5,
  falcon: (value) => value === 512 || value === 1024,
};
const BY_PARAM: ReadonlySet<FamilySizes> = new Set(['mlkem', 'mldsa', 'level', 'falcon']);

/** mentionsOf assigns each word of a name to the algorithm that it describes. */
export function mentionsOf(tokens: readonly NameToken[]): Mentions {
  const mentions = familiesIn(tokens);
  const unread: string[] = [];
  let part = 0;
  for (const [at, token] of tokens.entries()) {
    const beside = () => around(mentions, at, part);
    if (token.kind === 'list') part += startsPart(tokens, at);
    else if (token.kind === 'unknown' && token.text.length >= MIN_UNREAD_LENGTH) unread.push(token.text);
    else if (token.kind === 'number') giveNumber(tokens, { value: token.value, at }, beside());
    else if (token.kind === 'curve') giveCurve(token.curveBits, beside());
    else if (token.kind === 'mode') giveMode(token.mode, beside());
    else if (token.kind === 'padding') givePadding(token.padding, beside());
    else if (token.kind === 'password') givePassword(beside());
    else if (token.kind === 'reduction') giveReduction(beside());
    else if (token.kind === 'purpose') givePurpose(token.purpose, beside());
  }
  return { mentions, unread, isSignedWith: tokens.some((token) => token.kind === 'joiner') };
}

/** Returns 1 if the list separator starts a new part, because an algorithm follows. Otherwise, the text describes the previous algorithm: `RSA, 1024`. */
function startsPart(tokens: readonly NameToken[], at: number): 0 | 1 {
  const end = tokens.findIndex(({ kind }, index) => index > at && kind === 'list');
  const part = tokens.slice(at + 1, end < 0 ? undefined : end);
  return part.some(({ kind }) => kind === 'family' || kind === 'curve' || kind === 'padding') ? 1 : 0;
}

function familiesIn(tokens: readonly NameToken[]): Mention[] {
  const mentions: Mention[] = [];
  let part = 0;
  const named = tokens.some(({ kind }) => kind === 'family');
  for (const [at, token] of tokens.entries()) {
    if (token.kind === 'list') part += startsPart(tokens, at);
    // OAEP, PSS and PKCS1-v1_5 are padding schemes of RSA, even if the name does not contain RSA.
    if (token.kind === 'padding' && isOfRsa(token.padding) && !hasModulus(tokens))
      mentions.push(mentionOf('RSA', { at, part }));
    if (token.kind === 'family') mentions.push(mentionOf(token.family, { at, part, ...token }));
    // A curve is treated as a key if no algorithm in the name can use the curve.
    if (token.kind === 'curve' && !(named && hasUserOfCurve(tokens)))
      mentions.push(mentionOf('EC', { at, part, curveBits: token.curveBits }));
  }
  return mentions;
}

const isOfRsa = (padding: string) => ['oaep', 'pss', 'pkcs1', 'pkcs1v15', 'pkcs1v15!'].includes(padding);

function hasModulus(tokens: readonly NameToken[]): boolean {
  return tokens.some((token) => token.kind === 'family' && findFamily(token.family)?.sizes === 'modulus');
}

function hasUserOfCurve(tokens: readonly NameToken[]): boolean {
  return tokens.some((token) => token.kind === 'family' && findFamily(token.family)?.sizes === 'curve');
}

interface Given {
  readonly at: number;
  readonly part: number;
  readonly bits?: number;
  readonly curveBits?: number;
  readonly param?: string;
  readonly purpose?: WordPurpose;
}

function mentionOf(family: string, { at, part, bits, curveBits, param, purpose }: Given): Mention {
  const { role = 'other', nature, sizes } = findFamily(family) ?? {};
  return {
    family,
    role,
    nature,
    sizes,
    bits: bits ?? null,
    curveBits: curveBits ?? null,
    param: param ?? null,
    purpose: purpose ?? null,
    mode: null,
    padding: null,
    isPassword: false,
    isReduced: false,
    at,
    part,
  };
}

/** Around contains the mentions in the same part of a name, before a position (nearest first) and after the position. */
interface Around {
  readonly before: readonly Mention[];
  readonly behind: readonly Mention[];
}

function around(mentions: readonly Mention[], at: number, part: number): Around {
  const own = mentions.filter((mention) => mention.part === part);
  return {
    before: own.filter((mention) => mention.at <= at).reverse(),
    behind: own.filter((mention) => mention.at > at),
  };
}

/**
 * Reports whether a number belongs to the next algorithm: a number before "bit" that begins the name or follows a joining word, as in "256-bit AES" and
 * "SHA256and128bitAES".
 */
function isBeforeItsOwner(tokens: readonly NameToken[], at: number): boolean {
  const isBits = tokens[at + 1]?.kind === 'noise';
  return isBits && (at === 0 || tokens[at - 1]?.kind === 'joiner');
}

interface GivenNumber {
  readonly value: number;
  readonly at: number;
}

function giveNumber(tokens: readonly NameToken[], number: GivenNumber, beside: Around): void {
  if (isBesideRounds(tokens, number.at)) giveRounds(number.value, beside);
  else if (!isYear(tokens, number) && !shortens(number, beside))
    giveSize(number, beside, isBeforeItsOwner(tokens, number.at));
}

/** Reports whether a number is a number of rounds: "7-round AES", "AES with 7 rounds", "rounds=5000". */
function isBesideRounds(tokens: readonly NameToken[], at: number): boolean {
  const isRounds = (index: number) => tokens[index]?.kind === 'rounds';
  return isRounds(at + 1) || (isRounds(at - 1) && tokens[at - 2]?.kind !== 'number');
}

function giveRounds(value: number, { before, behind }: Around): void {
  const owner = [...before, ...behind].find(({ family }) => findFamily(family)?.rounds !== undefined);
  if (owner !== undefined && value < (findFamily(owner.family)?.rounds ?? 0)) owner.isReduced = true;
}

function giveReduction({ before, behind }: Around): void {
  for (const mention of [...before, ...behind])
    if (mention.role === 'cipher' || mention.role === 'hash') mention.isReduced = true;
}

/** Reports whether a number is the year of a format, as in JsonWebSignature2020. A year follows a word that is not an algorithm. */
function isYear(tokens: readonly NameToken[], { value, at }: GivenNumber): boolean {
  const kind = tokens[at - 1]?.kind;
  return value >= 1995 && value <= 2035 && value % 256 !== 0 && kind !== 'family' && kind !== 'joiner' && at > 0;
}

/**
 * Sets the truncated length of a standalone hash: a smaller number after the hash size, as in SHA-256/64 or "SHA-512 truncated to 96 bits". Returns false if
 * the number is not a truncated length.
 */
function shortens({ value, at }: GivenNumber, { before, behind }: Around): boolean {
  const [nearest] = before;
  if (nearest?.sizes !== 'digest' || nearest.bits === null || behind.length > 0 || before.length > 1) return false;
  if (nearest.role !== 'hash' || at - nearest.at > MAX_WORDS_BEFORE_LENGTH) return false;
  if (value >= nearest.bits || value < 16 || value % 8 !== 0) return false;
  nearest.bits = value;
  return true;
}

/** MAX_WORDS_BEFORE_LENGTH is the maximum number of words between a hash and its truncated length, as in "truncated to the first". */
const MAX_WORDS_BEFORE_LENGTH = 5;

function giveSize({ value, at }: GivenNumber, { before, behind }: Around, isForNext: boolean): void {
  const [nearest] = before;
  // In MNT4-753, the number directly after a smaller curve size denotes another curve in the series.
  if (nearest !== undefined && isOtherCurve(value, at, nearest)) {
    nearest.curveBits = value;
    return;
  }
  // In RSA-OAEP-256, the number after OAEP is a digest size, not a modulus size.
  if (nearest?.role === 'key' && nearest.purpose === 'encryption' && value <= 512) return;
  const ahead = isForNext ? behind : behind.filter(({ at: next, sizes }) => next === at + 1 && sizes !== 'curve');
  const candidates = isForNext ? [...ahead, ...before] : [...before, ...ahead];
  const owner = candidates.find((mention) => needsSize(mention) && canBeSize(value, mention));
  if (owner?.sizes === undefined) return;
  if (BY_PARAM.has(owner.sizes)) owner.param = String(value);
  else if (owner.sizes === 'curve') owner.curveBits = value;
  else owner.bits = value;
}

/** Reports whether a mention has no size yet. The name of a lightweight cipher implies the block size, so the following number is the key size. */
function needsSize(mention: Mention): boolean {
  return mention.sizes === 'light' ? mention.bits === null : hasNoSize(mention);
}

function isOtherCurve(value: number, at: number, { family, curveBits, at: place }: Mention): boolean {
  const isCurve = family === 'EC' && curveBits !== null && place === at - 1;
  return isCurve && value > curveBits && value <= 1024 && !SIZES.digest(value);
}

export function hasNoSize({ bits, curveBits, param }: Mention): boolean {
  return bits === null && curveBits === null && param === null;
}

function canBeSize(value: number, { sizes }: Mention): boolean {
  return sizes !== undefined && SIZES[sizes](value);
}

function giveCurve(curveBits: number, { before, behind }: Around): void {
  const owner = [...before, ...behind].find((mention) => mention.sizes === 'curve' && mention.curveBits === null);
  if (owner !== undefined) owner.curveBits = curveBits;
}

function giveMode(mode: string, { before, behind }: Around): void {
  const owner = [...before, ...behind].find(({ role }) => role === 'cipher');
  if (owner !== undefined) owner.mode ??= mode;
  else if (WRAPS.has(mode)) givePurpose('key-establishment', { before, behind });
}

/** Modes that mean key wrapping. A public-key algorithm that wraps keys is used for key transport. */
const WRAPS = new Set(['wrap', 'keywrap']);

function givePadding(padding: string, { before, behind }: Around): void {
  const owner = [...before, ...behind].find(({ role, sizes }) => role === 'key' && sizes === 'modulus');
  if (owner === undefined) return;
  if (padding === 'pss') owner.purpose = 'signature';
  // PKCS1Padding in JCA is the padding of a cipher.
  const isOfCipher = padding.endsWith('!');
  if (padding === 'oaep' || isOfCipher) owner.purpose ??= 'encryption';
  owner.padding ??= isOfCipher ? padding.slice(0, -1) : padding;
}

function givePassword({ before, behind }: Around): void {
  const owner = [...before, ...behind].find(({ role }) => role === 'hash');
  if (owner !== undefined) owner.isPassword = true;
}

function givePurpose(purpose: WordPurpose, { before, behind }: Around): void {
  const owner = [...before, ...behind].find(({ role, nature }) => role === 'key' || nature === 'classical');
  if (owner !== undefined) owner.purpose ??= purpose;
}
