import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { findIssued } from '../../scripts/lib/issued-secrets.mjs';

const directories: string[] = [];
let directory: string;
const write = (name: string, text: string) => appendFileSync(join(directory, name), text);
const newSecret = () => `sw_refresh_${randomBytes(32).toString('hex')}`;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sealwright-evidence-'));
  directories.push(directory);
});
afterAll(() => {
  for (const made of directories) rmSync(made, { recursive: true, force: true });
});

/** Tests the search for issued secrets that runs after the tests. */
describe('the issued secret scanner', () => {
  const [kept, leaked] = [newSecret(), newSecret()];

  it.each([
    ['in a log', 'log-1', (secret: string) => `{"message":"POST /x with Bearer ${secret}."}\n`],
    ['in a row of text', 'database-a-session', (secret: string) => `(1,"${secret}",t)\n`],
    [
      'in a row of bytes',
      'database-a-session',
      (secret: string) => `(1,"\\\\x00${Buffer.from(secret).toString('hex')}ff")\n`,
    ],
  ])('finds one %s', (_, file, line) => {
    write('secrets', `${kept}\n${leaked}\n`);
    write('log-1', 'nothing to see\n');
    write(file, line(leaked));
    const { found, secrets } = findIssued(directory);
    expect(secrets).toBe(2);
    expect(found).toEqual([{ file, beginning: expect.stringMatching(/…$/) }]);
    expect(JSON.stringify(found)).not.toContain(leaked);
  });

  it('finds nothing in files without secrets', () => {
    write('secrets', `${kept}\n`);
    write('log-1', `sw_refresh_${'0'.repeat(64)} is another one\n`);
    expect(findIssued(directory)).toMatchObject({ secrets: 1, files: 1, found: [] });
  });

  it('reports that there were no secrets to search for, which is a fault of the run', () => {
    write('log-1', 'x\n');
    expect(findIssued(directory)).toMatchObject({ secrets: 0, files: 1 });
  });
});
