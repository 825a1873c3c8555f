import { unreadable, unsupported } from './private-key-fault.js';
import { truncate } from '../../platform/text/truncate.js';
import { fromBase64, fromBrokenBase64 } from '../../formats/encoding/base64.js';

/** KeyBlock is a PEM block (RFC 7468), or the older form with headers that OpenSSL writes (RFC 1421 section 4.6). */
export interface KeyBlock {
  /** Words between BEGIN and the dashes, for example `EC PRIVATE KEY`. */
  readonly label: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

const BEGIN = '-----BEGIN ';
const DASHES = '-----';
const PUTTY = 'PuTTY-User-Key-File-';

/** Matches invisible characters that are often copied from web pages and chats along with the text. */
const INVISIBLE = /[\u200B-\u200D\u2060\uFEFF]/gu;
/** Matches line endings that were escaped one or more times. */
const ESCAPED_END = /\\{1,4}(?:r\\{1,4})?n/g;
/** Matches a base64-encoded file, as in pipeline variables and Kubernetes secrets. Every key file is longer than this minimum. */
const WRAPPED = /^[A-Za-z0-9+/]{100,}={0,2}$/;

/**
 * Returns the text with uniform line endings and without invisible characters. A single line with escaped `\n` is split into lines, and a base64-encoded
 * file is decoded.
 */
export function plainText(text: string): string {
  const plain = inLines(unwrapped(text).replaceAll(INVISIBLE, ''));
  return plain.trim().includes('\n') ? plain : plain.replaceAll(ESCAPED_END, '\n');
}

function inLines(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
}

function unwrapped(text: string): string {
  const bare = text.replaceAll(/\s/g, '');
  const inner = WRAPPED.test(bare) ? (fromBase64(bare)?.toString('utf8') ?? '') : '';
  return inner.includes(BEGIN) || inner.startsWith(PUTTY) ? inner : text;
}

/** Returns the offset of a PuTTY private key, or -1 if the text contains no PuTTY private key. */
export function puttyStart(text: string): number {
  const at = text.indexOf(PUTTY);
  return at === 0 || text[at - 1] === '\n' ? at : -1;
}

/**
 * Returns the first private key block. Preceding text, such as EC PARAMETERS, certificates or attributes, is skipped, as in OpenSSL. If there is no private
 * key, throws a PrivateKeyFault that describes what was found instead.
 */
export function privateKeyBlock(text: string): KeyBlock {
  const labels: string[] = [];
  for (let at = text.indexOf(BEGIN); at !== -1; at = text.indexOf(BEGIN, at + BEGIN.length)) {
    const end = text.indexOf(DASHES, at + BEGIN.length);
    const label = end === -1 ? '' : text.slice(at + BEGIN.length, end);
    if (label.endsWith('PRIVATE KEY')) return blockAt(text, label, end + DASHES.length);
    labels.push(label);
  }
  throw withoutKey(text, labels);
}

function blockAt(text: string, label: string, from: number): KeyBlock {
  const end = text.indexOf(`-----END ${label}-----`, from);
  if (end === -1) throw unreadable(`is truncated: the line -----END ${truncate(label, 40)}----- is missing`);
  const lines = text.slice(from, end).split('\n');
  const blank = lines.findIndex((line, i) => i > 0 && line.trim() === '');
  const hasHeaders = blank !== -1 && lines.slice(0, blank).some((line) => line.includes(':'));
  const headers = hasHeaders ? headersOf(lines.slice(0, blank)) : new Map<string, string>();
  const base64 = lines
    .slice(hasHeaders ? blank : 0)
    .join('')
    .replaceAll(/[ \t]/g, '');
  const body = fromBrokenBase64(base64);
  if (body === undefined) throw unreadable('is damaged: the text between BEGIN and END is not valid base64');
  return { label, headers, body };
}

function headersOf(lines: readonly string[]): Map<string, string> {
  return new Map(
    lines
      .filter((line) => line.includes(':'))
      .map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

function withoutKey(text: string, labels: readonly string[]): Error {
  if (text.includes('BEGIN SSH2 ENCRYPTED PRIVATE KEY'))
    return unsupported('is an SSH2 key of SSH Communications: convert it with puttygen -O private-openssh');
  if (text.includes('SSH PRIVATE KEY FILE FORMAT 1.1'))
    return unsupported('is an SSH protocol 1 key, which is no longer supported');
  const isPublic =
    labels.some((label) => label.endsWith('PUBLIC KEY')) ||
    text.includes('BEGIN SSH2 PUBLIC KEY') ||
    text.split('\n').some((line) => /^(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-\S{1,64} AAAA/.test(line.trimStart()));
  if (isPublic) return unreadable('must be a private key, but is a public key');
  const [label] = labels;
  return label === undefined
    ? unreadable('must be a private key in OpenSSH, PEM (PKCS #1, PKCS #8, SEC 1) or PuTTY format')
    : unreadable(`must be a private key, but is: ${truncate(label, 60)}`);
}
