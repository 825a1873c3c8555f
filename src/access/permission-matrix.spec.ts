import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import { expect, it } from 'vitest';
import { permissionMatrix } from './permission-matrix.js';

const read = (file: string) => readFileSync(join(import.meta.dirname, '../../docs', file), 'utf8');
const MATRIX = read('permissions.md');
const document = JSON.parse(read('openapi.json')) as OpenAPIObject;

it('docs/permissions.md matches the output of `npm run openapi`', () => {
  expect(MATRIX).toBe(permissionMatrix(document));
});

it('docs/permissions.md lists every operation exactly once', () => {
  const listed: string[] = Array.from(MATRIX.matchAll(/^\| `([A-Z]+ \/\S*)`/gm), ([, name]) => String(name));
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(listed.toSorted()).toEqual(described.toSorted());
});
