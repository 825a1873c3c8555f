import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const IMPORT = /^(?:import|export) (?!type\b)[^;]*? from '(\.[^']+)\.js';/gm;
const DECORATOR = /^\s*@[A-Z]\w*\(/m;

/** Benches and proofs run from source. Node.js only strips types and cannot parse decorators. */
it('benches and proofs import nothing that must be built', () => {
  const open = globSync(['bench/**/*.ts', 'chaos/**/*.ts'], { cwd: ROOT });
  const seen = new Set(open);
  for (const file of open) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const [, path = ''] of text.matchAll(IMPORT)) {
      const next = join(dirname(file), `${path}.ts`);
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(next);
    }
  }
  expect(seen.size).toBeGreaterThan(100);
  const built = [...seen].filter((file) => DECORATOR.test(readFileSync(join(ROOT, file), 'utf8')));
  expect(built).toEqual([]);
});
