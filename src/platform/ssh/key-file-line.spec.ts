import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { Problem } from '../errors/problem.js';
import { lineOf, readLines, writeLines, keyFileLine } from './authorized-keys-file.js';
import { isLine } from '../../formats/ssh/key-line.js';
import { sshFingerprintOf, readPublicKeyLine } from '../../formats/ssh/public-key.js';

const BODY = 'AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r';
const KEY = `ssh-ed25519 ${BODY}`;
const MORE = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHpdA8Wb0gdl1C2nBTPUQkFyfFsTZTjfvyNe1HpVXyUN more';

/** Returns the code of the Problem that `run` throws. */
function faultOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
  return 'nothing';
}

describe('a key file line', () => {
  it.each([
    ['a line feed', '\n'],
    ['CRLF', '\r\n'],
    ['a carriage return', '\r'],
    ['a vertical tab', '\v'],
    ['a form feed', '\f'],
    ['NUL', '\0'],
    ['next line', '\u0085'],
    ['a line separator', '\u2028'],
    ['a paragraph separator', '\u2029'],
    ['text that runs backwards', '\u202e'],
    ['half a character', '\ud800'],
    ['an escape', '\u001b[2K'],
  ])('is never written with %s', (_name, between) => {
    expect(() => keyFileLine(KEY, `ann${between}${MORE}`)).toThrow('control character');
    expect(() => lineOf('restrict', `${KEY} ann${between}${MORE}`)).toThrow('control character');
  });

  it.each([
    'Ann of the night shift',
    '$(touch /tmp/here) `id`; "quoted"',
    '# not a comment line',
    'expiry-time="20300101"',
  ])('keeps the comment %s unchanged, including spaces, as a comment only', (comment) => {
    const [line] = readLines(writeLines([{ ...lineOf('restrict', `${KEY} ${comment}`), end: '\n' }]));
    expect(line?.key).toMatchObject({ options: 'restrict', comment });
  });

  it('keeps a comment in any language as UTF-8', () => {
    const comment = 'Jürgen Ċapek 日本 👩‍💻';
    const line = lineOf('', `${KEY} ${readPublicKeyLine(`${KEY} ${comment}`)?.comment}`);
    expect(writeLines([{ ...line, end: '\n' }]).toString('utf8')).toBe(`${KEY} ${comment}\n`);
  });

  it('stays a single line per key, whatever the comments contain', () => {
    const tempting = fc.constantFrom(
      '\n',
      '\r',
      '\0',
      '\v',
      '\u010a',
      '\u0a0a',
      '\u2028',
      '\u0085',
      ' ',
      'a',
      '#',
      '"',
    );
    const comment = fc.array(fc.oneof(tempting, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 12 });
    fc.assert(
      fc.property(
        comment.map((parts) => parts.join('')),
        (text) => {
          const write = () => writeLines([{ ...lineOf('', `${KEY} ${text}`), end: '\n' }]);
          const bytes = isLine(text) ? write() : Buffer.from('refused\n');
          const refused = isLine(text) ? undefined : faultOf(write);
          expect([readLines(bytes).length, bytes.filter((byte) => [0, 10, 13].includes(byte)).length]).toEqual([1, 1]);
          expect(refused ?? 'ssh-key.unwritable').toBe('ssh-key.unwritable');
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('is not written if a character of its text would become a line feed byte', () => {
    expect(() => writeLines([{ text: 'a\u010ab', end: '\n' }])).toThrow('not a byte');
    expect(() => writeLines([{ text: 'a\nb', end: '\n' }])).toThrow('a line feed');
  });
});

describe('keys are recognized as sshd recognizes them', () => {
  const directory = mkdtempSync(join(tmpdir(), 'key-lines-'));
  const file = join(directory, 'line');
  afterAll(() => rmSync(directory, { recursive: true }));
  /** Returns the fingerprint according to OpenSSH, which parses .pub files and authorized_keys with the same function. */
  const fingerprintByOpenSsh = (line: string) => {
    writeFileSync(file, Buffer.from(`${line}\n`, 'latin1'));
    return spawnSync('ssh-keygen', ['-l', '-f', file], { encoding: 'utf8' }).stdout.split(' ')[1];
  };
  const [first, last] = [BODY.slice(0, 24), BODY.slice(24)];

  it.each([
    KEY,
    `${KEY}\r`,
    `\t ssh-ed25519\t ${BODY}`,
    `restrict ${KEY}`,
    `command="a \\" b" ${KEY} ann`,
    `${KEY}\0`,
    `${KEY}\0 and what nobody sees`,
    `no-pty ${KEY}\0 ann`,
    `ssh-ed25519 ${first}\v${last} ann`,
    `ssh-ed25519 ${first}\f${last}\r ann`,
    `command="a\0b" ${KEY}`,
    `ssh-ed25519\0 ${BODY}`,
    `\v${KEY}`,
    `ssh-ed25519\r${BODY}`,
    `\u00ef\u00bb\u00bf${KEY}`,
    `ssh-ed25519 ${BODY}=`,
    `ssh-ed25519 ${first}\u0085${last}`,
    `#${KEY}`,
  ])('%j: accepts the line if and only if ssh-keygen does', (line) => {
    const [read] = readLines(Buffer.from(`${line}\n`, 'latin1'));
    expect(read?.key && sshFingerprintOf(read.key.blob)).toBe(fingerprintByOpenSsh(line));
    expect(line).toContain(read?.key?.rest ?? '');
  });
});
