import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { occurrences } from '../../chaos/defences/checkout.js';
import { FINDINGS, MUTATIONS } from '../../chaos/defences/mutations.js';

const ROOT = join(import.meta.dirname, '../..');
const named = MUTATIONS.map((mutation) => [`${mutation.finding}: ${mutation.defence}`, mutation] as const);

/** Returns the text of a test file and of the case lists next to it. */
function textOf(spec: string): string {
  const path = join(ROOT, spec);
  const text = readFileSync(path, 'utf8');
  const beside = [...text.matchAll(/from '(\.\/[\w-]+)\.js'/g)].map(([, name]) => join(dirname(path), `${name}.ts`));
  return [text, ...beside.map((file) => readFileSync(file, 'utf8'))].join('\n');
}

describe('each defence that npm run proof -- defences removes', () => {
  it.each(named)('%s: exists once in the source', (_, mutation) => {
    expect([mutation.file, occurrences(mutation)]).toEqual([mutation.file, 1]);
    expect(mutation.instead).not.toContain(mutation.text);
  });

  it.each(named)('%s: has a test', (_, { spec, test }) => {
    expect(existsSync(join(ROOT, spec))).toBe(true);
    // Compares single words, because names of parametrized tests are built at run time.
    const words = (test ?? '').split(' ').filter((word) => /^\w+$/.test(word));
    expect(words.filter((word) => !textOf(spec).includes(word))).toEqual([]);
  });

  it('addresses a review finding, with a unique name', () => {
    const findings = new Set(MUTATIONS.map(({ finding }) => finding));
    expect([...findings].sort((a, b) => a - b)).toEqual(Array.from({ length: FINDINGS }, (_, i) => i + 1));
    expect(new Set(MUTATIONS.map(({ defence }) => defence)).size).toBe(MUTATIONS.length);
  });
});

describe('docs/attacks.md', () => {
  const guide = readFileSync(join(ROOT, 'docs/attacks.md'), 'utf8');
  const rows = guide.split('\n').filter((line) => line.startsWith('|'));

  it('has a row for each defence, with its test', () => {
    const cells = new Set(
      rows.map((row) =>
        row
          .split('|')
          .slice(1, 4)
          .map((cell) => cell.trim())
          .join(' | '),
      ),
    );
    const expected = MUTATIONS.map(({ finding, defence, spec, test }) =>
      [finding, defence, `\`${spec}\`${test === undefined ? '' : ` "${test}"`}`].join(' | '),
    );
    expect(expected.filter((row) => !cells.has(row))).toEqual([]);
  });

  it('names only existing tests and sources', () => {
    const files = globSync(['src/**/*.ts', 'test/**/*.ts'], { cwd: ROOT }).map((file) => `/${file}`);
    const mentioned = rows.flatMap((row) => row.match(/(?<![\w/.-])[\w/.-]+\.(?:spec|ts)(?![\w-])(?:\.ts)?/g) ?? []);
    const missing = [...new Set(mentioned)].filter((name) => {
      const path = name.endsWith('.ts') ? name : `${name}.ts`;
      return !files.some((file) => file.endsWith(`/${path}`));
    });
    expect(mentioned.length).toBeGreaterThan(200);
    expect(missing).toEqual([]);
  });
});
