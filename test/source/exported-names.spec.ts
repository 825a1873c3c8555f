import ts from 'typescript';
import { expect, it } from 'vitest';
import { productSources } from './product-sources.js';

/** The names that a file declares and exports. */
function exportedNames(tree: ts.SourceFile): string[] {
  return tree.statements.flatMap((statement) => {
    if (!ts.canHaveModifiers(statement)) return [];
    const isExported = ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
    if (!isExported) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.flatMap(({ name }) => named(name));
    return 'name' in statement && statement.name !== undefined ? [(statement.name as ts.Identifier).text] : [];
  });
}

function named(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? named(element.name) : []));
}

/** Who searches for a name finds one thing, and an editor that completes it imports the right one. */
it.each([
  // The texts of the console have the same names in every language.
  { part: 'src/', except: undefined },
  { part: 'ui/src/', except: 'ui/src/i18n/' },
])('an exported name of $part means one thing', ({ part, except = '-' }) => {
  const places = new Map<string, Set<string>>();
  const sources = productSources().filter(({ path }) => path.startsWith(part) && !path.startsWith(except));
  for (const { path: file, tree } of sources)
    for (const name of exportedNames(tree)) places.set(name, (places.get(name) ?? new Set()).add(file));
  expect(places.size).toBeGreaterThan(300);
  const twice = [...places].filter(([, files]) => files.size > 1).map(([name, files]) => [name, ...files].join(' '));
  expect(twice).toEqual([]);
});
