import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { findDeprecations } from '../../scripts/lib/deprecations.mjs';

const directory = mkdtempSync(join(tmpdir(), 'sealwright-evidence-'));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it('the deprecation check after every test run finds a deprecated call in a log, once', () => {
  const said = (pid: number, text: string) => writeFileSync(join(directory, `log-${pid}`), text);
  said(1, '[Nest] 1 - LOG up\n(node:1) DeprecationWarning: old.call() will be removed.\n');
  said(
    2,
    '(node:2) DeprecationWarning: old.call() will be removed.\n(node:2) [DEP0123] DeprecationWarning: by address\n',
  );
  said(3, '{"message":"somebody wrote DeprecationWarning: into a name"}\n(node:3) ExperimentalWarning: new\n');
  writeFileSync(join(directory, 'database-a-b'), '(node:4) DeprecationWarning: of a row\n');
  const { logs, found } = findDeprecations(directory);
  expect(logs).toBe(3);
  expect(found.toSorted()).toEqual([
    'DeprecationWarning: old.call() will be removed.',
    '[DEP0123] DeprecationWarning: by address',
  ]);
});
