import { join } from 'node:path';
import ts from 'typescript';
import { productSources, ROOT, walk } from './product-sources.js';

/** Encodings of bytes whose text is ASCII, or one character for each byte. */
const BYTEWISE = new Set(['hex', 'base64', 'base64url', 'latin1', 'ascii', 'binary']);
/** What they answer is ASCII: dates, numbers, random names, and what was made of text that is. */
const ASCII_CALLS = new Set(['toISOString', 'randomUUID', 'toFixed', 'digest', 'toUpperCase']);
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2024.d.ts', 'lib.dom.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  jsx: ts.JsxEmit.ReactJSX,
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  experimentalDecorators: true,
  skipLibCheck: true,
  noEmit: true,
};

/** Every place of the product that cuts a text to a length by itself: `path › expression`. */
export function rawCuts(): string[] {
  const paths = productSources().map(({ path }) => path);
  const program = ts.createProgram(
    paths.map((path) => join(ROOT, path)),
    OPTIONS,
    ownHost(),
  );
  const checker = program.getTypeChecker();
  const cuts = paths.flatMap((path) => {
    const tree = program.getSourceFile(join(ROOT, path));
    return tree === undefined ? [] : cutsIn(tree, checker).map((cut) => `${path} › ${cut}`);
  });
  return [...new Set(cuts)];
}

/** The same of a text that is one file. */
export function cutsOf(source: string): string[] {
  const name = join(ROOT, 'test/source/example.ts');
  const host = ownHost();
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (path, target) =>
    path === name ? ts.createSourceFile(path, source, target) : read(path, target);
  const program = ts.createProgram([name], OPTIONS, host);
  const tree = program.getSourceFile(name);
  return tree === undefined ? [] : cutsIn(tree, program.getTypeChecker());
}

/** Knows the product's own files and those of Node: packages and generated types take most of the time, and cut no text. */
function ownHost(): ts.CompilerHost {
  const host = ts.createCompilerHost(OPTIONS);
  host.resolveModuleNameLiterals = (literals, containing, _redirected, options) =>
    literals.map(({ text }) =>
      text.startsWith('.') && !text.includes('/generated/')
        ? ts.resolveModuleName(text, containing, options, host)
        : { resolvedModule: undefined },
    );
  return host;
}

function cutsIn(tree: ts.SourceFile, checker: ts.TypeChecker): string[] {
  const cuts: string[] = [];
  walk(tree, (node) => {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
    const { name, expression: receiver } = node.expression;
    const isOne =
      name.text === 'toString'
        ? isCutOfBytes(receiver, node.arguments)
        : ['slice', 'substring', 'substr'].includes(name.text) &&
          isLength(node.arguments) &&
          isText(receiver, checker) &&
          !isAscii(receiver);
    if (isOne) cuts.push(node.getText(tree).replaceAll(/\s{1,99}/g, ' '));
  });
  return cuts;
}

/** `(0, 9)`, `(0, most - 1)`, `(-9)`: a length, where `indexOf` would be a place. */
function isLength([start, end]: readonly ts.Expression[]): boolean {
  if (start === undefined) return false;
  if (end === undefined) return ts.isPrefixUnaryExpression(start) && start.operator === ts.SyntaxKind.MinusToken;
  return isFixed(end);
}

/** A number, or a name that says that it is a limit. */
function isFixed(end: ts.Expression): boolean {
  if (ts.isNumericLiteral(end)) return true;
  if (ts.isBinaryExpression(end)) return isFixed(end.left);
  const name = ts.isPropertyAccessExpression(end) ? end.name.text : ts.isIdentifier(end) ? end.text : '';
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(name) || /^(?:max|most|limit|length|size|bytes|width)[A-Z]?/.test(name);
}

function isText(expression: ts.Expression, checker: ts.TypeChecker): boolean {
  const type = checker.getNonNullableType(checker.getTypeAtLocation(expression));
  const parts = type.isUnion() ? type.types : [type];
  return parts.some(({ flags }) => (flags & ts.TypeFlags.StringLike) !== 0);
}

function isAscii(receiver: ts.Expression): boolean {
  if (!ts.isCallExpression(receiver) || !ts.isPropertyAccessExpression(receiver.expression)) return false;
  const { name, expression } = receiver.expression;
  if (ASCII_CALLS.has(name.text)) return name.text !== 'toUpperCase' || isAscii(expression);
  if (name.text === 'toString') return receiver.arguments.some(isBytewise);
  // What stands between is made of the same.
  return ['replaceAll', 'replace', 'padStart', 'trim'].includes(name.text) && (isAscii(expression) || isPrintable(receiver)); // prettier-ignore
}

/** `replaceAll(/[^\x20-\x7e]/g, '?')` */
function isPrintable({ arguments: [pattern] }: ts.CallExpression): boolean {
  return pattern !== undefined && /^\/\[\^\\x2[01]-\\x7e\]\/g$/.test(pattern.getText());
}

function isBytewise(argument: ts.Expression): boolean {
  return ts.isStringLiteral(argument) && BYTEWISE.has(argument.text);
}

/** `bytes.toString('utf8', 0, 9)` and `bytes.subarray(0, 9).toString()`. */
function isCutOfBytes(receiver: ts.Expression, given: readonly ts.Expression[]): boolean {
  if (given.some(isBytewise)) return false;
  if (given.length > 1) return true;
  if (!ts.isCallExpression(receiver) || !ts.isPropertyAccessExpression(receiver.expression)) return false;
  return receiver.expression.name.text === 'subarray' && isLength(receiver.arguments);
}
