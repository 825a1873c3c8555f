import type { DraftAsset } from '../model/document.js';
import { truncate } from '../../platform/text/truncate.js';

/** Rules about cryptography, by the name that the tool gives them. */
const RULES =
  /weak-?crypto|insecure-?(?:hash|cipher|crypto)|cipher|hashing|weak-?hash|md5|sha-?1\b|\bdes\b|ecb|pseudo-?random|weak-?random|insecure-?random|^G40[1-7]$|^G50[1-7]$|^S(?:4426|4790|5542|5547|2245)$/i;
/** Weaknesses of cryptography in the Common Weakness Enumeration. */
const CRYPTOGRAPHIC = new Set([326, 327, 328, 338, 780, 916, 1240]);
/** Names are read at the start of a text: what tools put there is a sentence. */
const MAX_TEXT = 4000;

/** An algorithm that a finding names. */
export interface NamedAlgorithm {
  readonly name: string;
  readonly primitive: string;
  readonly mode?: string;
}

/** The algorithms that a message names, most specific first. */
const NAMES: [RegExp, NamedAlgorithm][] = [
  [/\b(?:3DES|DESede|TripleDES|des-ede3)\b/i, { name: '3DES', primitive: 'block-cipher' }],
  [/\bDES\b/, { name: 'DES', primitive: 'block-cipher' }],
  [/\b(?:RC4|ARCFOUR|ARC4)\b/i, { name: 'RC4', primitive: 'stream-cipher' }],
  [/\bRC2\b/i, { name: 'RC2', primitive: 'block-cipher' }],
  [/\bBlowfish\b/i, { name: 'Blowfish', primitive: 'block-cipher' }],
  [/\bMD2\b/i, { name: 'MD2', primitive: 'hash' }],
  [/\bMD4\b/i, { name: 'MD4', primitive: 'hash' }],
  [/\bMD5\b/i, { name: 'MD5', primitive: 'hash' }],
  [/\bSHA-?1\b/i, { name: 'SHA-1', primitive: 'hash' }],
  [/\bECB\b/i, { name: 'AES-ECB', primitive: 'block-cipher', mode: 'ecb' }],
  [
    /math\/rand|Math\.random|java\.util\.Random|weak random|pseudo-?random/i,
    { name: 'Math.random', primitive: 'drbg' },
  ],
  [/\bDSA\b/, { name: 'DSA', primitive: 'signature' }],
  [/\bRSA\b/, { name: 'RSA', primitive: 'pke' }],
  [/\bAES\b/, { name: 'AES', primitive: 'block-cipher' }],
];

/** True for the identifier of a rule about cryptography, whatever stands before its last part. */
export function isCryptographicRule(id: string): boolean {
  const bare = id.split(/[/.:]/).at(-1) ?? id;
  return RULES.test(id) || RULES.test(bare);
}

/** True for `CWE-327`, `external/cwe/cwe-327` and the like, when the weakness is one of cryptography. */
export function namesWeakness(text: string): boolean {
  for (const [, number] of truncate(text, MAX_TEXT).matchAll(/cwe[-_/: ]?(\d{1,6})(?!\d)/gi))
    if (CRYPTOGRAPHIC.has(Number(number))) return true;
  return false;
}

/** The same for the identifier of an entry of the enumeration, which may be the bare number. */
export function isWeakness(id: string | number): boolean {
  return /^\d{1,6}$/.test(String(id)) ? CRYPTOGRAPHIC.has(Number(id)) : namesWeakness(String(id));
}

/** The algorithm that the first of these texts names that names one. */
export function algorithmIn(texts: readonly string[]): NamedAlgorithm | undefined {
  for (const text of texts) {
    const start = truncate(text, MAX_TEXT);
    const found = start === '' ? undefined : NAMES.find(([pattern]) => pattern.test(start))?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
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
