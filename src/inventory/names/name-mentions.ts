import { findFamily, type FamilyNature, type FamilyRole, type FamilySizes } from '../vocabularies/families.js';
import type { WordPurpose } from '../vocabularies/word-book.js';
import type { NameToken } from './name-tokens.js';

/** One algorithm in a name, with what the words around say about it. Sizes are bits. */
export interface Mention {
  readonly family: string;
  readonly role: FamilyRole;
  readonly nature: FamilyNature | undefined;
  readonly sizes: FamilySizes | undefined;
  /** Modulus, key or digest. */
  bits: number | null;
  curveBits: number | null;
  /** Number of a parameter set: 768 of ML-KEM, 65 of ML-DSA; the block size of a lightweight cipher. */
  param: string | null;
  purpose: WordPurpose | null;
  mode: string | null;
  padding: string | null;
  /** A hash that stores passwords. */
  isPassword: boolean;
  /** A variant of the algorithm with fewer rounds, or changed by somebody: what is known of its strength does not apply. */
  isReduced: boolean;
  /** Place among the tokens. */
  readonly at: number;
  /** Which of several names that are given one beside the other. */
  readonly part: number;
}

export interface Mentions {
  readonly mentions: readonly Mention[];
  /** What was not read. */
  readonly unread: readonly string[];
  /** Two of them stand on both sides of a "with": a signature. */
  readonly isSignedWith: boolean;
}

/** What is too short to be anything is left out: the l in ML-DSA-L, single letters of versions. */
const MIN_UNREAD_LENGTH = 3;
/** The families that a number can be a size of, and which numbers. */
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

/** Gives each word of a name to the algorithm that it says something about. */
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

/** Returns 1 if another algorithm follows the list separator. Text without an algorithm describes the previous one: `RSA, 1024`. */
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
    // OAEP, PSS and PKCS1-v1_5 are schemes of RSA, named or not.
    if (token.kind === 'padding' && isOfRsa(token.padding) && !hasModulus(tokens))
      mentions.push(mentionOf('RSA', { at, part }));
    if (token.kind === 'family') mentions.push(mentionOf(token.family, { at, part, ...token }));
    // A curve beside no algorithm that could use it is a key of its own.
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

/** The mentions of the same part of a name: those before a place, the nearest first, and those behind it. */
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

/** "256-bit AES", "SHA256and128bitAES": the number before "bit" belongs to what comes, unless something stands before it. */
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

/** "7-round AES", "AES with 7 rounds", "rounds=5000". */
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

/** The year of a format, as in JsonWebSignature2020: it follows a word that names no algorithm. */
function isYear(tokens: readonly NameToken[], { value, at }: GivenNumber): boolean {
  const kind = tokens[at - 1]?.kind;
  return value >= 1995 && value <= 2035 && value % 256 !== 0 && kind !== 'family' && kind !== 'joiner' && at > 0;
}

/** SHA-256/64, SHA-512 truncated to 96 bits: a smaller number behind the size of a hash that stands alone is the length that is kept. */
function shortens({ value, at }: GivenNumber, { before, behind }: Around): boolean {
  const [nearest] = before;
  if (nearest?.sizes !== 'digest' || nearest.bits === null || behind.length > 0 || before.length > 1) return false;
  if (nearest.role !== 'hash' || at - nearest.at > MAX_WORDS_BEFORE_LENGTH) return false;
  if (value >= nearest.bits || value < 16 || value % 8 !== 0) return false;
  nearest.bits = value;
  return true;
}

/** "truncated to the first". */
const MAX_WORDS_BEFORE_LENGTH = 5;

function giveSize({ value, at }: GivenNumber, { before, behind }: Around, isForNext: boolean): void {
  const [nearest] = before;
  // MNT4-753: a number right behind a curve that is smaller names another curve of the series.
  if (nearest !== undefined && isOtherCurve(value, at, nearest)) {
    nearest.curveBits = value;
    return;
  }
  // RSA-OAEP-256: the digest behind OAEP is no modulus, whatever it would be the size of.
  if (nearest?.role === 'key' && nearest.purpose === 'encryption' && value <= 512) return;
  const ahead = isForNext ? behind : behind.filter(({ at: next, sizes }) => next === at + 1 && sizes !== 'curve');
  const candidates = isForNext ? [...ahead, ...before] : [...before, ...ahead];
  const owner = candidates.find((mention) => needsSize(mention) && canBeSize(value, mention));
  if (owner?.sizes === undefined) return;
  if (BY_PARAM.has(owner.sizes)) owner.param = String(value);
  else if (owner.sizes === 'curve') owner.curveBits = value;
  else owner.bits = value;
}

/** Of a lightweight cipher the word has the block size: a number behind it is the size of the key. */
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

/** What wraps keys with a public key transports them. */
const WRAPS = new Set(['wrap', 'keywrap']);

function givePadding(padding: string, { before, behind }: Around): void {
  const owner = [...before, ...behind].find(({ role, sizes }) => role === 'key' && sizes === 'modulus');
  if (owner === undefined) return;
  if (padding === 'pss') owner.purpose = 'signature';
  // JCA's PKCS1Padding is one of ciphers.
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
