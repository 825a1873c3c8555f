import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { permissionMatrix } from '../../src/access/permission-matrix.js';
import { operationsOf, shippedDocument } from '../support/api-document.js';

const FILE = readFileSync(join(import.meta.dirname, '../../docs/permissions.md'), 'utf8');

it('docs/permissions.md is what `npm run openapi` writes', () => {
  expect(FILE).toBe(permissionMatrix(shippedDocument()));
});

it('docs/permissions.md has every operation once', () => {
  const listed: string[] = Array.from(FILE.matchAll(/^\| `([A-Z]+ \/\S*)`/gm), ([, name]) => String(name));
  const described = operationsOf(shippedDocument()).map(({ method, path }) => `${method} ${path}`);
  expect(listed.toSorted()).toEqual(described.toSorted());
});
