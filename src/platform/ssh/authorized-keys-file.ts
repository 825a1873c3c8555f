import { readBlob, type SshPublicKey } from '../../formats/ssh/public-key.js';
import { Problem } from '../errors/problem.js';
import { isLine } from '../../formats/ssh/key-line.js';

/** AuthorizedKeysLine is one line of an authorized_keys file, with all its bytes. */
export interface AuthorizedKeysLine {
  /** Line without its line break. */
  readonly text: string;
  /** `\n`, `\r\n`, or empty for an unterminated last line. */
  readonly end: string;
  /** Key as parsed by sshd; undefined for blank lines, comments, and lines that sshd ignores. */
  readonly key?: AuthorizedKey;
}

export interface AuthorizedKey extends SshPublicKey {
  /** Leading white space. */
  readonly indent: string;
  /** Options, verbatim; empty if there are none. */
  readonly options: string;
  /** Text from the key type to the end of the line, verbatim. */
  readonly rest: string;
  readonly comment: string;
}

/** Encoding with one character per byte, because authorized_keys has no defined encoding and every byte must be preserved. */
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
 * writeLines returns the content of a file. Throws an Error if a line contains a line feed, or a character above U+00FF, whose low byte could be a
 * line feed.
 */
export function writeLines(lines: readonly Pick<AuthorizedKeysLine, 'text' | 'end'>[]): Buffer {
  for (const { text } of lines)
    if (NO_LINE.test(text))
      throw new Error('a line of authorized_keys contains a line feed or a character that is not a byte');
  return Buffer.from(lines.map(({ text, end }) => text + end).join(''), BYTES);
}

/** lineEndOf returns the line break used in the file; `\n` if the file has no line break yet. */
export function lineEndOf(lines: readonly AuthorizedKeysLine[]): string {
  return lines.find(({ end }) => end !== '')?.end ?? '\n';
}

/**
 * lineOf returns a new line. `options` and `indent` are copied from another line of the file; `rest` is any text and is encoded as UTF-8. Throws Problem
 * `ssh-key.unwritable` if the result would be more than one line.
 */
export function lineOf(options: string, rest: string, indent = ''): AuthorizedKeysLine {
  return lineAgain(options, bytesOf(keyFileText(rest)), indent);
}

/** lineAgain returns a line whose `rest` is copied byte by byte from a line of the same file. */
export function lineAgain(options: string, rest: string, indent = ''): AuthorizedKeysLine {
  const text = `${indent}${options === '' ? '' : `${options} `}${rest}`;
  return { text, end: '', key: readKey(text) };
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString(BYTES);
}

/** Parses a line like auth_check_authkey_line in OpenSSH: a key, or options followed by a key. Text after a NUL is ignored. */
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

/**
 * Parses a key without options. The base64 may contain white space other than spaces and tabs, because sshd decodes the base64 with b64_pton(3), which
 * skips white space.
 */
function keyAt(text: string): (SshPublicKey & { comment: string }) | undefined {
  const match = /^([^ \t]+)[ \t]+([^ \t]+)/.exec(text);
  const key = match && readBlob(match[1] ?? '', (match[2] ?? '').replaceAll(/[\v\f\r]/g, ''));
  return key ? { ...key, comment: text.slice(match[0].length).replace(/^[ \t\r]+/, '').trimEnd() } : undefined; // prettier-ignore
}

/** Returns the text before the first unquoted white space; undefined if a quote is not closed. */
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
 * keyFileLine returns a new terminated line for a key file, with the parts joined by spaces. As the last check before the file is written, throws Problem
 * `ssh-key.unwritable` if a part contains a line break or a character that key files cannot contain.
 */
export function keyFileLine(...parts: readonly string[]): string {
  return `${keyFileText(...parts)}\n`;
}

/** Like keyFileLine, without the line break. */
function keyFileText(...parts: readonly string[]): string {
  const text = parts.filter((part) => part !== '').join(' ');
  if (isLine(text)) return text;
  throw new Problem(
    'refused',
    'ssh-key.unwritable',
    'A comment or name contains a control character, which is not allowed in key files. Remove the character.',
  );
}
