import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { leadingVersion } from '../../formats/asn1/ber-reader.js';
import { affordablePrivateKey } from '../../formats/asn1/key-cost.js';
import { bytesOf, pemBlocks } from '../../formats/encoding/pem-blocks.js';

/** WITHHELD replaces a secret. */
export const WITHHELD = '[withheld]';

/** Types of material whose value may be stored, because it is public. */
const PUBLIC_MATERIAL = new Set([
  'public-key',
  'ciphertext',
  'signature',
  'digest',
  'initialization-vector',
  'nonce',
  'salt',
  'tag',
  'additional-data',
]);

/** Fast pre-check: a text that does not match cannot match any of the patterns below. */
const SUSPECT =
  /-----BEGIN|PuTTY-User|pass|pwd|secret|token|key|credential|bearer|basic|AKIA|ASIA|gh[pousr]_|github_pat|glpat-|xox|eyJ|sk_|sw_|:\/\/[^/\s]*@|"kty"/i;
/** Matches Base64 that may be DER, at the beginning of a text, a word or a line. The line ending may be escaped. */
const SUSPECT_BLOB = /(?:^|[^A-Za-z0-9]|\\[nrt])M[A-I][A-Za-z0-9+/]{22}/;

/** The patterns are applied to texts of any length, so every repetition is bounded or cannot restart within itself. */
const PATTERNS: [RegExp, string][] = [
  [
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----|$)/g,
    WITHHELD,
  ],
  [/PuTTY-User-Key-File-\d[\s\S]*/g, WITHHELD],
  [/(:\/\/)[^\s/@]+@/g, `$1${WITHHELD}@`],
  [
    /((?:pass(?:word|wd|phrase|code)?|pwd|secret(?:[_-]?(?:access[_-]?)?key)?|token|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|credentials?)["']?\s*(?:=>|[=:])\s*["']?)(?!\[withheld\])[^\s"',;&]{3,}/gi,
    `$1${WITHHELD}`,
  ],
  [/\b(?:Bearer|Basic)\s+[A-Za-z0-9+/._~=-]{16,}/g, WITHHELD],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, WITHHELD],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abeprs]-[\w-]{10,})/g, WITHHELD],
  [/\b(?:sk|rk)_(?:live|test)_\w{10,}/g, WITHHELD],
  [/\bsw_\w{6,}/g, WITHHELD],
  [/\bAGE-SECRET-KEY-1[0-9A-Z]{20,}/gi, WITHHELD],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, WITHHELD],
];
const JWK_SECRETS = /"(d|p|q|dp|dq|qi|k)"\s*:\s*"[\w-]{16,}"/g;
/** Private members of a JWK (RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1). */
const PRIVATE_OF_JWK = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']);
const SECRET_NAME = /pass(?:word|wd|phrase)|secret|token|private.?key|credential|api.?key/i;
/** Matches Base64 in one or more lines, of which only the last line may be short. */
const BASE64_BLOB =
  /(?:\\[nrt])?[A-Za-z0-9+/]{24,}(?:(?:\s|\\[nrt]){1,16}[A-Za-z0-9+/]{24,})*(?:(?:\s|\\[nrt]){1,16}[A-Za-z0-9+/]{1,23})?={0,2}/g;
/** Positions in a base64 text at which DER can begin: `/` and `+` may be separators instead of base64. */
const BLOB_START = /(?<![A-Za-z0-9])M|(?<=\\[nrt])M/g;

/** withoutSecretMembers replaces the recognizable secrets in a text. */
export function withoutSecretMembers(text: string): string {
  if ((!SUSPECT.test(text) && !SUSPECT_BLOB.test(text)) || HARMLESS.has(text)) return text;
  let clean = text;
  for (const [pattern, instead] of PATTERNS) clean = clean.replace(pattern, instead);
  if (clean.includes('"kty"')) clean = clean.replace(JWK_SECRETS, `"$1":"${WITHHELD}"`);
  clean = clean.replace(BASE64_BLOB, withoutPrivateDer);
  if (clean === text && text.length < SHORT && HARMLESS.size < MAX_HARMLESS) HARMLESS.add(text);
  return clean;
}

function withoutPrivateDer(blob: string): string {
  for (const { index } of blob.matchAll(BLOB_START))
    if (isPrivateDer(blob.slice(index, index + 16))) return blob.slice(0, index) + WITHHELD;
  return blob;
}

/** Cache of short texts that match the pre-check but contain no secret, such as `public-key`, which occurs in every asset. */
const HARMLESS = new Set<string>();
const MAX_HARMLESS = 4096;
const SHORT = 40;

/**
 * blankSecrets replaces the secrets in a JSON value in place: in strings, in properties whose name indicates a secret, and in private JWK members.
 * Returns the number of replaced secrets.
 */
export function blankSecrets(value: object): number {
  return Array.isArray(value) ? blankItems(value as unknown[]) : blankMembers(value as Record<string, unknown>);
}

function blankItems(list: unknown[]): number {
  let blanked = 0;
  for (let index = 0; index < list.length; index += 1) {
    const item = list[index];
    if (typeof item === 'string') {
      const clean = withoutSecretMembers(item);
      if (clean === item) continue;
      list[index] = clean;
      blanked += 1;
    } else if (typeof item === 'object' && item !== null) blanked += blankSecrets(item);
  }
  return blanked;
}

function blankMembers(members: Record<string, unknown>): number {
  let blanked = 0;
  // Evaluated first, because the name itself may be blanked below.
  const isNamedSecret = typeof members['value'] === 'string' && isSecretName(members['name']);
  for (const name in members) {
    const member = members[name];
    if (typeof member === 'string') {
      const isSecret = (isNamedSecret && name === 'value') || isPrivateOfJwk(members, name);
      const clean = isSecret ? WITHHELD : withoutSecretMembers(member);
      if (clean === member) continue;
      // JSON.parse creates even `__proto__` as an own property, so this assignment does not change a prototype.
      members[name] = clean;
      blanked += 1;
    } else if (typeof member === 'object' && member !== null) blanked += blankSecrets(member);
  }
  return blanked;
}

function isSecretName(name: unknown): boolean {
  return typeof name === 'string' && SECRET_NAME.test(name);
}

function isPrivateOfJwk(members: Record<string, unknown>, name: string): boolean {
  return name.length <= 2 && PRIVATE_OF_JWK.has(name) && typeof members['kty'] === 'string';
}

/** isPublicMaterial reports whether the value of material of this type may be stored. */
export function isPublicMaterial(type: unknown): boolean {
  return typeof type === 'string' && PUBLIC_MATERIAL.has(type);
}

/**
 * publicKeyFingerprint returns the hexadecimal SHA-256 of the SubjectPublicKeyInfo of a private or public key in PEM or base64 DER, so that both halves of a
 * key pair identify the same asset. Returns undefined if the text is not a key that can be read without a passphrase.
 */
export function publicKeyFingerprint(text: string): string | undefined {
  try {
    return createHash('sha256')
      .update(publicHalf(text.trim()).export({ type: 'spki', format: 'der' }))
      .digest('hex');
  } catch {
    return undefined;
  }
}

function publicHalf(text: string): KeyObject {
  if (!text.includes('-----BEGIN')) return halfOf(Buffer.from(text, 'base64'), isPrivateDer(text));
  const block = pemBlocks(text).find(({ label }) => label.endsWith('PRIVATE KEY') || label.endsWith('PUBLIC KEY'));
  if (block === undefined) return createPublicKey(text);
  if (block.label === 'RSA PUBLIC KEY') return createPublicKey({ key: bytesOf(block), format: 'der', type: 'pkcs1' });
  return halfOf(bytesOf(block), block.label.endsWith('PRIVATE KEY'));
}

function halfOf(der: Buffer, isPrivate: boolean): KeyObject {
  if (isPrivate) return createPublicKey(affordablePrivateKey(der));
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
}

/**
 * Reports whether a string is a base64-encoded DER private key: a SEQUENCE that starts with the version INTEGER 0 or 1 (PKCS #8, RFC 5958; PKCS #1, RFC 8017
 * A.1.2; SEC 1, RFC 5915).
 */
function isPrivateDer(base64: string): boolean {
  if (!base64.startsWith('M')) return false;
  const version = leadingVersion(Buffer.from(base64.slice(0, 16), 'base64'));
  return version === 0 || version === 1;
}
