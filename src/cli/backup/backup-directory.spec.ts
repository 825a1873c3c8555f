import { mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareDirectory } from './backup-directory.js';

const folder = mkdtempSync(join(tmpdir(), 'backup-directory-'));

describe('the backup directory', () => {
  it('is created with its parents, accessible to this account only', async () => {
    const path = join(folder, 'a/b/c');
    await prepareDirectory(path);
    await prepareDirectory(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  it.each(['/proc/backups', '/proc/backups/nightly', '/dev/null/backups'])(
    'is rejected immediately at %s',
    async (path) => {
      await expect(prepareDirectory(path)).rejects.toThrow(`Cannot write a backup to ${path}: `);
    },
  );

  it('is rejected if a file with its name exists', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(prepareDirectory(file)).rejects.toThrow(`${file} is not a directory. Choose a directory`);
  });
});
