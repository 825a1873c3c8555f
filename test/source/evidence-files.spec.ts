import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

it('every evidence file named in docs/security.md exists', () => {
  const named = [
    ...readFileSync(join(ROOT, 'docs/security.md'), 'utf8').matchAll(/`((?:test|src)\/[\w./-]+\.ts)`/g),
  ].map(([, file]) => file ?? '');
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});
