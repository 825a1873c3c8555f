import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { placeOf, productSources, ROOT, type Source, walk } from './product-sources.js';

export interface ProductPattern {
  readonly pattern: RegExp;
  /** Whether the pattern is matched repeatedly, because of its flag or `split`. */
  readonly isRepeated: boolean;
  readonly place: string;
}

/** A pattern that is built at run time: `path › expression`. */
export type MadePattern = string;

const LITERAL = ts.SyntaxKind.RegularExpressionLiteral;

/** Returns every regular expression literal in the product, and every place where code builds a pattern from text. */
export function patternsOfSources(): { literals: ProductPattern[]; made: MadePattern[] } {
  const literals: ProductPattern[] = [];
  const made: MadePattern[] = [];
  for (const source of productSources())
    walk(source.tree, (node) => {
      if (node.kind === LITERAL) literals.push(literalOf(source, node));
      if (isConstruction(node) && node.arguments?.[0]?.kind !== LITERAL)
        made.push(`${source.path} › ${node.arguments?.map((one) => one.getText()).join(', ')}`);
    });
  return { literals, made };
}

function literalOf(source: Source, node: ts.Node): ProductPattern {
  const text = node.getText();
  const end = text.lastIndexOf('/');
  const pattern = new RegExp(text.slice(1, end), text.slice(end + 1));
  return { pattern, isRepeated: pattern.global || pattern.sticky || isSplit(node), place: placeOf(source, node) };
}

/** Reports whether a node builds a pattern: `new RegExp(…)`, `RegExp(…)`, and `match`, `matchAll` and `search` with a string. */
function isConstruction(node: ts.Node): node is ts.NewExpression | ts.CallExpression {
  if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return false;
  const called = node.expression;
  if (ts.isIdentifier(called)) return called.text === 'RegExp';
  const [first] = node.arguments ?? [];
  return (
    ts.isPropertyAccessExpression(called) &&
    ['match', 'matchAll', 'search'].includes(called.name.text) &&
    first !== undefined &&
    ts.isStringLiteralLike(first)
  );
}

function isSplit({ parent }: ts.Node): boolean {
  return (
    ts.isCallExpression(parent) &&
    ts.isPropertyAccessExpression(parent.expression) &&
    parent.expression.name.text === 'split'
  );
}

/** Returns the patterns in the members `pattern` and `suite` of a JSON file. */
export function patternsOfJson(path: string, flags: string): ProductPattern[] {
  const found = new Map<string, ProductPattern>();
  JSON.parse(readFileSync(join(ROOT, path), 'utf8'), (name, value: unknown) => {
    if ((name === 'pattern' || name === 'suite') && typeof value === 'string')
      found.set(value, { pattern: new RegExp(value, flags), isRepeated: false, place: path });
    return value;
  });
  return [...found.values()];
}
