import type { DraftAsset } from '../../model/document.js';
import { truncate } from '../../../platform/text/truncate.js';

/** Matches the names that tools use for rules about cryptography. */
const RULES =
  /weak-?crypto|insecure-?(?:hash|cipher|crypto)|cipher|hashing|weak-?hash|md5|sha-?1\b|\b(?:[3t]|triple-?)?des(?:ede)?\b|ecb|(?:insecure|predictable|pseudo|weak)-?random|(?:rsa|ec|insufficient|weak)-key-size|padding-oracle|^G40[1-7]$|^G50[1-7]$|^S(?:4426|4790|5542|5547|2245)$|^CA53(?:50|51|58|79|84|85|94)$|^SCS00(?:0[4-6]|1[0-3])$/i;
/** Matches titles such as `Do Not Use Broken Cryptographic Algorithms`, `Weak/Broken Hash Algorithm`, `WeakBrokenHashAlgorithm`, `Use_of_Broken_or_Risky_…`. */
const TITLE =
  /(?:broken|deprecated|insecure|obsolete|predictable|risky|unsafe|weak)[ /a-z_-]{0,40}(?:cipher|crypto|digest|encryption|hash|random)/i;
/** Cryptographic weaknesses in the Common Weakness Enumeration. Older tools report only the category: 310 for cryptography, 330 for random numbers. */
const CRYPTOGRAPHIC = new Set([310, 326, 327, 328, 330, 338, 759, 760, 780, 916, 1240]);
/** MAX_TEXT is the number of characters that are searched for names. Tools name the algorithm at the start of a text. */
const MAX_TEXT = 4000;

/** NamedAlgorithm is an algorithm named by a finding. */
export interface NamedAlgorithm {
  readonly name: string;
  readonly primitive: string;
  readonly mode?: string;
}

/**
 * Algorithms that a text can name, most specific first. The patterns expect identifiers that have been split into words, for example `EVP md5` or `SHA1 with
 * RSA`.
 */
const NAMES: [RegExp, NamedAlgorithm][] = [
  [
    /(?<!\d)3 ?DES\b|\bDESede\b|\bTriple[ -]?DES\b|\bDES3\b|\bdes[ -]?ede3?\b|\bTDEA\b|\bTDES\b/gi,
    { name: '3DES', primitive: 'block-cipher' },
  ],
  [
    /\bDES\b|["'`/]des["'`]|\b(?:des)-(?:cbc|cfb|ecb|ofb)\b|\bcrypto\/des\b/g,
    { name: 'DES', primitive: 'block-cipher' },
  ],
  [/\b(?:RC4|ARCFOUR|ARC4)\b/gi, { name: 'RC4', primitive: 'stream-cipher' }],
  [/\b(?:A?RC2)\b/gi, { name: 'RC2', primitive: 'block-cipher' }],
  [/\bBlowfish\b/gi, { name: 'Blowfish', primitive: 'block-cipher' }],
  [/\bCAST5\b/gi, { name: 'CAST5', primitive: 'block-cipher' }],
  [/\bSkipjack\b/gi, { name: 'Skipjack', primitive: 'block-cipher' }],
  [/\bSEED\b/g, { name: 'SEED', primitive: 'block-cipher' }],
  [/\bNull ?Cipher\b/gi, { name: 'NULL', primitive: 'block-cipher' }],
  [/\bIDEA\b/g, { name: 'IDEA', primitive: 'block-cipher' }],
  [/\bMD2\b/gi, { name: 'MD2', primitive: 'hash' }],
  [/\bMD4\b/gi, { name: 'MD4', primitive: 'hash' }],
  [/\bMD5\b/gi, { name: 'MD5', primitive: 'hash' }],
  // SHA1PRNG in Java does not mean that a hash was chosen.
  [/\bSHA[ -]?1\b(?! ?PRNG)/gi, { name: 'SHA-1', primitive: 'hash' }],
  [/\bRIPE-?MD(?:-?(?:128|160|256|320))?\b/gi, { name: 'RIPEMD', primitive: 'hash' }],
  // ECB has no meaning for RSA, but JCA requires a mode in each transformation.
  [/(?<!\bRSA\/)\bECB\b/gi, { name: 'AES-ECB', primitive: 'block-cipher', mode: 'ecb' }],
  [
    /math\/rand|Math\.random|java\.util\.Random|weak random|pseudo-?random/gi,
    { name: 'Math.random', primitive: 'drbg' },
  ],
  [/\bECDSA\b/gi, { name: 'ECDSA', primitive: 'signature' }],
  [/\bECDHE?\b|\bEC ?Diffie[ -]?Hellman\b/gi, { name: 'ECDH', primitive: 'key-agree' }],
  [/\bX25519\b/gi, { name: 'X25519', primitive: 'key-agree' }],
  [/\bEd25519\b/gi, { name: 'Ed25519', primitive: 'signature' }],
  [/\bDiffie[ -]?Hellman\b|\bDH\b/g, { name: 'DH', primitive: 'key-agree' }],
  [/\bEl ?Gamal\b/gi, { name: 'ElGamal', primitive: 'pke' }],
  [/(?<!\bEd )\bDSA\b/g, { name: 'DSA', primitive: 'signature' }],
  [/\bRSA\b/g, { name: 'RSA', primitive: 'pke' }],
  [/\bECC?\b/g, { name: 'EC', primitive: 'pke' }],
  [/\bAES\b/g, { name: 'AES', primitive: 'block-cipher' }],
];
/** Names that occur in lists of weak algorithms. Any other name in a message may be a recommendation, or the cipher used with a mode. */
const WEAK = new Set([
  '3DES',
  'DES',
  'RC4',
  'RC2',
  'Blowfish',
  'CAST5',
  'IDEA',
  'MD2',
  'MD4',
  'MD5',
  'SHA-1',
  'RIPEMD',
]);
/** Matches a sentence that recommends a replacement for the finding. */
const ADVICE = /^(?:consider|migrate to|prefer|replace|switch to|upgrade to)\b|\binstead\b(?! of)|\bsuch as\b/i;
/** Algorithm families with a key size. `SIZES` matches only common sizes, because other numbers in a line have a different meaning. */
const SIZED = new Set(['RSA', 'DSA', 'DH']);
const SIZES = /(?<![\d.])(?:512|768|1024|1280|1536|2048|3072|4096|7680|8192|15360|16384)(?![\d.])/g;
const ON_CURVES = new Set(['EC', 'ECDSA', 'ECDH']);
const CURVES = /\b(?:secp|sect)\d{3}[kr]\d\b|\bprime\d{3}v\d\b|\bbrainpoolP\d{3}[rt]1\b/gi;

/** isCryptographicRule reports whether an identifier, or its last part, is the name of a rule about cryptography. */
export function isCryptographicRule(id: string): boolean {
  const bare = id.split(/[/.:]/).at(-1) ?? id;
  return [id, bare, bare.replaceAll('_', '-')].some((text) => RULES.test(text));
}

/** isCryptographicTitle reports whether a title is about weak cryptography. Use this function for tools that do not report a CWE weakness. */
export function isCryptographicTitle(title: string): boolean {
  return TITLE.test(truncate(title, MAX_TEXT));
}

/** namesWeakness reports whether a text such as `CWE-327` or `external/cwe/cwe-327` names a cryptographic weakness. */
export function namesWeakness(text: string): boolean {
  for (const [, number] of truncate(text, MAX_TEXT).matchAll(/cwe[-_/: ]?(\d{1,6})(?!\d)/gi))
    if (CRYPTOGRAPHIC.has(Number(number))) return true;
  return false;
}

/** isWeakness is like `namesWeakness`, for the identifier of a CWE entry, which may be only a number. */
export function isWeakness(id: string | number): boolean {
  return /^\d{1,6}$/.test(String(id)) ? CRYPTOGRAPHIC.has(Number(id)) : namesWeakness(String(id));
}

/**
 * algorithmIn returns the algorithm named by the first text that names an algorithm. If a message lists all algorithms that the rule detects (`MD2, MD4, MD5,
 * or SHA1`), and a later text, such as the quoted code, names exactly one of the listed algorithms, that algorithm is returned.
 */
export function algorithmIn(texts: readonly string[]): NamedAlgorithm | undefined {
  const all = texts.map((text) => namesIn(withoutAdvice(text)));
  const at = all.findIndex(({ length }) => length > 0);
  const [first, ...others] = (all[at] ?? []).filter(({ name }, index) => index === 0 || WEAK.has(name));
  if (first === undefined || !WEAK.has(first.name) || others.length === 0) return first;
  const listed = [first, ...others];
  const singled = all.slice(at + 1).map((names) => listed.filter((one) => names.includes(one)));
  return singled.find(({ length }) => length === 1)?.[0] ?? first;
}

function namesIn(text: string): NamedAlgorithm[] {
  let rest = apart(truncate(text, MAX_TEXT));
  return NAMES.flatMap(([pattern, algorithm]) => {
    const without = rest.replace(pattern, ' ');
    if (without === rest) return [];
    rest = without;
    return [algorithm];
  });
}

function withoutAdvice(text: string): string {
  const sentences = truncate(text, MAX_TEXT).split(/(?<=[.!?;])\s+/);
  return sentences.filter((sentence) => !ADVICE.test(sentence)).join(' ');
}

/** sizedBy adds the size or curve to the algorithm. Only the quoted code is searched, because messages mention the required sizes or curves. */
export function sizedBy(snippets: readonly string[], algorithm: NamedAlgorithm): NamedAlgorithm {
  const { name } = algorithm;
  const pattern = SIZED.has(name) ? SIZES : ON_CURVES.has(name) ? CURVES : undefined;
  const found =
    pattern === undefined ? [] : snippets.flatMap((snippet) => truncate(snippet, MAX_TEXT).match(pattern) ?? []);
  const [only, ...others] = new Set(found.map((text) => text.toLowerCase()));
  return only === undefined || others.length > 0 ? algorithm : { ...algorithm, name: `${name}-${only}` };
}

/** Appends a copy of the text in which the words of identifiers are separated, if the copy differs: `HmacMD5`, `DES_ecb_encrypt`, `SHA1withRSA`. */
function apart(text: string): string {
  const words = text
    .replaceAll('_', ' ')
    .replaceAll(/(?<=[\dA-Z])(with|With|and|And)(?=[\dA-Z])/g, ' $1 ')
    .replaceAll(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z\d])(?=[A-Z][a-z])|(?<=[A-Z]\d)(?=[A-Z])/g, ' ');
  return words === text ? text : `${text}\n${words}`;
}

export function algorithmAsset({ name, primitive, mode }: NamedAlgorithm): DraftAsset {
  const algorithmProperties = { primitive, ...(mode === undefined ? {} : { mode }) };
  const component = {
    type: 'cryptographic-asset',
    name,
    cryptoProperties: { assetType: 'algorithm', algorithmProperties },
  };
  return { ref: name, kind: 'algorithm', component, occurrences: [], links: [] };
}
