import { readBlob, type SshPublicKey } from '../../formats/ssh/public-key.js';
import { Problem } from '../errors/problem.js';
import { isLine } from '../../formats/ssh/key-line.js';

/** One line of an authorized_keys file, with every byte of it. */
export interface AuthorizedKeysLine {
  /** The line without its end. */
  readonly text: string;
  /** `\n`, `\r\n`, or empty for a last line that nothing ends. */
  readonly end: string;
  /** What sshd would make of it; absent for blank lines, comments, and lines that sshd would pass over. */
  readonly key?: AuthorizedKey;
}

export interface AuthorizedKey extends SshPublicKey {
  /** White space in front. */
  readonly indent: string;
  /** As written; empty without any. */
  readonly options: string;
  /** From the key type to the end of the line, as written. */
  readonly rest: string;
  readonly comment: string;
}

/** The bytes, one character each: authorized_keys has no encoding, and no byte may change on its way through. */
const BYTES = 'latin1';
const NO_LINE = /[\n\u0100-\uffff]/;

export function readLines(file: Buffer): AuthorizedKeysLine[] {
  const lines: AuthorizedKeysLine[] = [];
  const text = file.toString(BYTES);
  for (let at = 0; at < text.length;) {
    const feed = text.indexOf('\n', at);
    const stop = feed === -1 ? text.length : feed;
    const carriage = feed !== -1 && stop > at && text[stop - 1] === '\r' ? 1 : 0;
    const line = text.slice(at, stop - carriage);
    lines.push({ text: line, end: feed === -1 ? '' : text.slice(stop - carriage, feed + 1), key: readKey(line) });
    at = stop + 1;
  }
  return lines;
}

/**
 * The bytes of a file. Every line stays one line: throws an Error for a text that holds a line feed, or a character that is no byte (its lower half could
 * be a line feed).
 */
export function writeLines(lines: readonly Pick<AuthorizedKeysLine, 'text' | 'end'>[]): Buffer {
  for (const { text } of lines)
    if (NO_LINE.test(text))
      throw new Error('a line of authorized_keys contains a line feed or a character that is not a byte');
  return Buffer.from(lines.map(({ text, end }) => text + end).join(''), BYTES);
}

/** The end that lines of this file have; `\n` when it has none yet. */
export function lineEndOf(lines: readonly AuthorizedKeysLine[]): string {
  return lines.find(({ end }) => end !== '')?.end ?? '\n';
}

/**
 * A new line. `options` and `indent` are as they stand on another line of the file, `rest` is text of any origin: written as UTF-8. Throws Problem
 * `ssh-key.unwritable` when it would be more than one line.
 */
export function lineOf(options: string, rest: string, indent = ''): AuthorizedKeysLine {
  return lineAgain(options, bytesOf(keyFileText(rest)), indent);
}

/** A line whose `rest` stood on a line of this file before, byte for byte. */
export function lineAgain(options: string, rest: string, indent = ''): AuthorizedKeysLine {
  const text = `${indent}${options === '' ? '' : `${options} `}${rest}`;
  return { text, end: '', key: readKey(text) };
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString(BYTES);
}

/** Reads a line as auth_check_authkey_line of OpenSSH does: a key, or options and then a key. What follows a NUL does not exist for it. */
function readKey(line: string): AuthorizedKey | undefined {
  const nul = line.indexOf('\0');
  const seen = nul === -1 ? line : line.slice(0, nul);
  const indent = /^[ \t]*/.exec(seen)?.[0] ?? '';
  const body = seen.slice(indent.length);
  if (body === '' || body.startsWith('#')) return undefined;
  const bare = keyAt(body);
  if (bare !== undefined) return { ...bare, indent, options: '', rest: line.slice(indent.length) };
  const options = optionsAt(body);
  if (options === undefined) return undefined;
  const own = body.slice(options.length).replace(/^[ \t]+/, '');
  const key = keyAt(own);
  return key && { ...key, indent, options, rest: line.slice(seen.length - own.length) };
}

/** The base64 may hold other white space than blanks and tabs: b64_pton(3), which sshd reads it with, passes over it. */
function keyAt(text: string): (SshPublicKey & { comment: string }) | undefined {
  const match = /^([^ \t]+)[ \t]+([^ \t]+)/.exec(text);
  const key = match && readBlob(match[1] ?? '', (match[2] ?? '').replaceAll(/[\v\f\r]/g, ''));
  return key ? { ...key, comment: text.slice(match[0].length).replace(/^[ \t\r]+/, '').trimEnd() } : undefined; // prettier-ignore
}

/** Up to the first white space that no quotes hold; undefined when a quote is never closed. */
function optionsAt(body: string): string | undefined {
  let quoted = false;
  let at = 0;
  for (; at < body.length && (quoted || (body[at] !== ' ' && body[at] !== '\t')); at += 1) {
    if (body.startsWith('\\"', at)) at += 1;
    else if (body[at] === '"') quoted = !quoted;
  }
  return quoted ? undefined : body.slice(0, at);
}

/**
 * A line that we make, for a file in which each line means something, with its end. The parts are joined by a space. Throws Problem
 * `ssh-key.unwritable` for a part that would become two lines, or that no key file may hold: the last check before a file is written.
 */
export function keyFileLine(...parts: readonly string[]): string {
  return `${keyFileText(...parts)}\n`;
}

/** The same without the end. */
function keyFileText(...parts: readonly string[]): string {
  const text = parts.filter((part) => part !== '').join(' ');
  if (isLine(text)) return text;
  throw new Problem(
    'refused',
    'ssh-key.unwritable',
    'A comment or name contains a control character and cannot be part of a line. Enter it again without that character.',
  );
}
