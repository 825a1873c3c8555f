import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { encodingOf, showsWhole, unifiedDiff, withDiff } from './unified-diff.js';

const directory = mkdtempSync(join(tmpdir(), 'unified-diff-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** File contents that are difficult for a diff: equal lines, blank lines, all kinds of line endings, diff markers, and bytes that are not UTF-8. */
const TEXTS =
  'a|b|b||\n|\n|\n|\n|\r\n| a|-a|+a|\\ No newline at end of file|@@ -1,1 +1,1 @@|--- x|é|\r|\v|\u2028|\u0085|\u202e';
const PIECES = [Buffer.from([0xff]), ...TEXTS.split('|').map((text) => Buffer.from(text))];
const file = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => Buffer.concat(pieces));
const anyBytes = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));

it('a diff converts any file into any other', () => {
  const isWhole = (before: Buffer, after: Buffer) => {
    const diff = unifiedDiff('/f', before, after);
    expect(withDiff(before, diff, encodingOf(before, after))).toEqual(after);
    expect(diff === '').toBe(before.equals(after));
  };
  fc.assert(fc.property(file, file, isWhole), { numRuns: 2000 });
  fc.assert(fc.property(anyBytes, anyBytes, isWhole), { numRuns: 500 });
});

it('git apply produces the second file as well', () => {
  const text = fc.array(fc.constantFrom('a\n', 'b\n', '\n', '-a\n', '+b\n', 'é\n', 'c'), { maxLength: 20 });
  const fileOf = (pieces: string[]) => Buffer.from(pieces.join(''));
  const [target, diffFile] = [join(directory, 'target'), join(directory, 'diff')];
  fc.assert(
    fc.property(text.map(fileOf), text.map(fileOf), (before, after) => {
      fc.pre(!before.equals(after) && before.length > 0 && after.length > 0);
      writeFileSync(target, before);
      writeFileSync(diffFile, unifiedDiff('target', before, after));
      execFileSync('git', ['apply', '-p0', '--whitespace=nowarn', 'diff'], { cwd: directory });
      expect(readFileSync(target)).toEqual(after);
    }),
    { numRuns: 40 },
  );
});

it('an added line that starts with a space is not treated as context', () => {
  const before = Buffer.from('command="echo" ssh-ed25519 OLD ann\n');
  const after = Buffer.from('command="echo" ssh-ed25519 NEW ann\n ssh-ed25519 MORE backdoor\n');
  expect(unifiedDiff('/f', before, after)).toBe(
    [
      '--- /f',
      '+++ /f',
      '@@ -1,1 +1,2 @@',
      '-command="echo" ssh-ed25519 OLD ann',
      '+command="echo" ssh-ed25519 NEW ann',
      '+ ssh-ed25519 MORE backdoor',
      '',
    ].join('\n'),
  );
});

it('a diff of a different file is not applied', () => {
  const diff = unifiedDiff('/f', Buffer.from('a\nb\n'), Buffer.from('a\nc\n'));
  expect(() => withDiff(Buffer.from('a\nx\n'), diff, 'utf8')).toThrow('does not apply to this file');
  expect(() => withDiff(Buffer.from(''), diff, 'utf8')).toThrow('does not apply to this file');
});

it('a diff that omits one of the changes is detected', () => {
  const far = '\n'.repeat(20);
  const [before, after] = [Buffer.from(`a${far}b\n`), Buffer.from(`A${far}b\nbackdoor\n`)];
  const diff = unifiedDiff('/f', before, after);
  expect(showsWhole(before, diff, after)).toBe(true);
  expect(showsWhole(before, diff.slice(0, diff.lastIndexOf('@@ -')), after)).toBe(false);
  expect(showsWhole(before, '', after)).toBe(false);
});

it('thousands of lines that all differ form one hunk', () => {
  const lines = (of: string) => Buffer.from(Array.from({ length: 20_000 }, (_, i) => `${of}${i}\n`).join(''));
  const [before, after] = [lines('a'), lines('b')];
  const diff = unifiedDiff('/f', before, after);
  expect(diff.split('\n')[2]).toBe('@@ -1,20000 +1,20000 @@');
  expect(withDiff(before, diff, 'utf8')).toEqual(after);
});
