import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './product-sources.js';

const LINK = /\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)\s]*)?\)/g;
const documents = globSync(['*.md', 'docs/**/*.md', 'deploy/**/*.md', 'integrations/**/*.md'], { cwd: ROOT });

it('documents link only to existing files', () => {
  expect(documents.length).toBeGreaterThan(50);
  const broken = documents.flatMap((document) => {
    const targets = [...readFileSync(join(ROOT, document), 'utf8').matchAll(LINK)].map(([, target = '']) => target);
    const missing = targets.filter((target) => !existsSync(join(ROOT, dirname(document), target)));
    return missing.map((target) => `${document} → ${target}`);
  });
  expect(broken).toEqual([]);
});
