import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CONSOLE_PAGES } from '../../src/system/console/console.controller.js';
import ts from 'typescript';
import { operationsOf, shippedDocument } from '../support/api-document.js';
import { placeOf, productSources, ROOT, type Source, walk } from './product-sources.js';

it('every console page is served at its URL, even when opened or reloaded there', () => {
  const router = readFileSync(join(ROOT, 'ui/src/app/router.tsx'), 'utf8');
  const sections = [...router.matchAll(/page\(\s*'\/([^'/]*)/g)].map(([, section = '']) => section);
  expect(sections.length).toBeGreaterThan(30);
  expect(sections.filter((section) => !CONSOLE_PAGES.includes(section))).toEqual([]);
  const served = CONSOLE_PAGES.filter((page) => !page.endsWith('/*'));
  expect(served.filter((page) => page !== '' && !sections.includes(page))).toEqual([]);
});

/** Functions that call an operation. If the service requires step-up, these functions prompt the user to authenticate, and then retry the call themselves. */
const ASKING = ['useAction', 'guarded'];

it('the console asks for step-up wherever it calls an operation that requires it', () => {
  const fresh = operationsOf(shippedDocument()).filter(({ raw }) => raw['x-step-up'] === true);
  const names = new Set(fresh.map(({ operationId }) => operationId));
  const found = productSources()
    .filter(({ path }) => path.startsWith('ui/'))
    .flatMap((source) => usesOf(source, names).map((use) => ({ source, use })));
  expect(found.length).toBeGreaterThan(60);
  expect(found.filter(({ use }) => !isAsking(use)).map(({ source, use }) => placeOf(source, use))).toEqual([]);
});

/** Returns the uses of operations with these names in a file that imports the operations from the generated client. */
function usesOf({ tree }: Source, names: ReadonlySet<string>): ts.Identifier[] {
  const imported = new Set<string>();
  const uses: ts.Identifier[] = [];
  walk(tree, (node) => {
    if (ts.isImportSpecifier(node) && /generated\/sdk\.gen/.test(node.parent.parent.parent.getText()))
      imported.add(node.name.text);
    else if (
      ts.isIdentifier(node) &&
      !ts.isImportSpecifier(node.parent) &&
      imported.has(node.text) &&
      names.has(node.text)
    )
      uses.push(node);
  });
  return uses;
}

function isAsking(node: ts.Node): boolean {
  for (let at = node; at.parent !== undefined; at = at.parent)
    if (ts.isCallExpression(at) && ts.isIdentifier(at.expression) && ASKING.includes(at.expression.text)) return true;
  return false;
}
