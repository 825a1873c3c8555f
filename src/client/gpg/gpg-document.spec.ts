import { generateKeyPairSync } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { digestOfDocument, readWhole } from './gpg-document.js';

const directory = mkdtempSync(join(tmpdir(), 'sealwright-document-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = publicKey.export({ type: 'spki', format: 'der' });
const at = new Date('2026-01-01T00:00:00Z');
const facts = { publicKey: spki, madeAt: at, hash: 'sha512', at } as const;

function file(name: string, content: string): string {
  writeFileSync(join(directory, name), content);
  return join(directory, name);
}

/** Provides a document on a descriptor whose first line is a passphrase, as with `--passphrase-fd 0`. */
async function onDescriptor<Result>(content: string, use: (fd: number) => Promise<Result>): Promise<Result> {
  const fd = openSync(file('stdin', content), 'r');
  try {
    return await use(fd);
  } finally {
    closeSync(fd);
  }
}

describe('a document after a passphrase on the same descriptor', () => {
  it.each([
    ['a document of lines', 'first\nsecond\n'],
    ['a large one', `${'x'.repeat(200_000)}\ny`],
    ['an empty one', ''],
  ])('is signed without the passphrase: %s', async (_, document) => {
    const alone = await digestOfDocument({ places: [file('alone', document)] }, facts, false);
    for (const passphrase of ['secret', '', 'p'.repeat(100_000)]) {
      const found = await onDescriptor(`${passphrase}\n${document}`, (fd) =>
        digestOfDocument({ places: [fd], passphraseFd: fd }, facts, false),
      );
      expect(found).toEqual(alone);
    }
  });

  it('is the complete file if it is named separately', async () => {
    const named = file('named', 'not a passphrase\ntext\n');
    const text = await readWhole({ places: [named], passphraseFd: 0 });
    expect(text.toString()).toBe('not a passphrase\ntext\n');
  });
});
