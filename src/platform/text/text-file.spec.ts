import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTextFile, withoutByteOrderMark } from './text-file.js';

it('a file is read without a leading byte order mark, but with any other', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-text-'));
  const file = join(directory, 'key.pem');
  for (const [text, read] of [
    ['\uFEFF-----BEGIN PUBLIC KEY-----', '-----BEGIN PUBLIC KEY-----'],
    ['grüße\uFEFF', 'grüße\uFEFF'],
    ['', ''],
  ] as const) {
    writeFileSync(file, text);
    expect(await readTextFile(file)).toBe(read);
    expect(withoutByteOrderMark(text)).toBe(read);
  }
  rmSync(directory, { recursive: true });
});
