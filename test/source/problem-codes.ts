import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');

/** Problem code in the source, with the kind of Problem or the HTTP status. */
export interface UsedCode {
  readonly code: string;
  readonly kind: string;
  readonly file: string;
}

/** Call sites that pass on a code, as `file kind`. These codes are collected where they originate. */
const PASSED_ON = [
  'src/platform/errors/problem.ts missing', // missing()
  'src/inventory/intake/imports/ingest-threads.ts kind', // refusals from a thread
  'src/platform/http/server/problem.filter.ts malformed', // OF_HTTP
  'src/signing/formats/format-writers.ts malformed', // invalid()
  'src/signing/requests/sign-request-validator.ts malformed', // invalid()
  'src/signing/certificates/certificate-chain.ts refused', // refusedCertificate()
  'src/signing/requests/signing.service.ts refused', // failure of the request
  'src/auth/model/failed-sign-in.ts kind', // problem of the sign-in, with the details for the audit log
  'src/signing/facades/facade-signing.ts refused', // failure of a batch item
  'src/hsm/process/vault-problem.ts kind', // FAILURES
  'src/hosts/credentials/private-keys.service.ts malformed', // CODES
];

/** Collects every code in src from the syntax tree. Throws for a code that cannot be determined statically. */
export function codesInSource(): UsedCode[] {
  const files = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.spec.ts'));
  return files.flatMap((file) => codesIn(file, readFileSync(join(ROOT, file), 'utf8')));
}

function codesIn(file: string, text: string): UsedCode[] {
  const found: UsedCode[] = [];
  const visit = (node: ts.Node): void => {
    found.push(...ofProblem(node, file), ...ofHelpers(node, file), ...ofTables(node, file));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  // Failures without a Problem are written with SQL.
  for (const [, code = ''] of text.matchAll(/failure_code = (?:CASE WHEN .* THEN )?'([\w.-]+)'/g))
    found.push({ code, kind: 'failure', file });
  return found;
}

/** Returns the codes in `new Problem(kind, code, …)`. */
function ofProblem(node: ts.Node, file: string): UsedCode[] {
  if (!ts.isNewExpression(node) || node.expression.getText() !== 'Problem') return [];
  const [kindNode, codeNode] = node.arguments ?? [];
  if (kindNode === undefined || codeNode === undefined) return [];
  const kind = ts.isStringLiteral(kindNode) ? kindNode.text : kindNode.getText();
  const isPassedOn = PASSED_ON.includes(`${file} ${kind}`);
  // The status is unknown if the kind is a variable.
  if (isPassedOn && !ts.isStringLiteral(kindNode)) return [];
  const codes = codesOf(codeNode);
  if (codes.length === 0 && !isPassedOn)
    throw new Error(`${file}: the code ${codeNode.getText()} cannot be read from the source`);
  return codes.map((code) => ({ code, kind, file }));
}

/** Returns the codes in a literal, a choice between literals, a parameter of a helper, or a template around one of these expressions. */
function codesOf(node: ts.Node): string[] {
  if (ts.isIdentifier(node)) return [...passedFor(node), ...constantOf(node)];
  if (!ts.isTemplateExpression(node)) return literalsIn(node);
  const [span] = node.templateSpans;
  return span === undefined
    ? []
    : passedFor(span.expression).map((part) => `${node.head.text}${part}${span.literal.text}`);
}

/** Returns the arguments that callers in this file pass for `parameter`. */
function passedFor(parameter: ts.Node): string[] {
  const helper = ts.findAncestor(parameter, ts.isFunctionDeclaration);
  const index = helper?.parameters.findIndex((one) => one.name.getText() === parameter.getText()) ?? -1;
  const name = helper?.name?.text;
  if (name === undefined || index < 0) return [];
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText() === name && node.arguments[index] !== undefined)
      found.push(...literalsIn(node.arguments[index]));
    ts.forEachChild(node, visit);
  };
  visit(parameter.getSourceFile());
  return found.filter((text) => text !== '');
}

/** Functions that create a Problem of one kind, with the position of the code argument. */
const HELPERS = new Map<string, { readonly place: number; readonly kind: string; readonly in?: string }>([
  ['invalid', { place: 1, kind: 'malformed' }],
  ['malformedContent', { place: 0, kind: 'malformed' }],
  ['refusedCertificate', { place: 0, kind: 'refused' }],
  ['ImportRefusal', { place: 0, kind: 'refused' }],
  ['this.fail', { place: 1, kind: 'failure', in: 'ssh-certificate-signer.ts' }],
]);

function ofHelpers(node: ts.Node, file: string): UsedCode[] {
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return [];
  const [resource] = node.arguments ?? [];
  // Other functions with this name take a sentence or a pointer instead of a resource.
  if (node.expression.getText() === 'missing' && resource !== undefined && ts.isStringLiteral(resource))
    return /^[a-z-]+$/.test(resource.text) ? [{ code: `${resource.text}.missing`, kind: 'missing', file }] : [];
  const helper = HELPERS.get(node.expression.getText());
  const codeNode = helper === undefined ? undefined : node.arguments?.[helper.place];
  if (helper === undefined || codeNode === undefined || !file.endsWith(helper.in ?? '')) return [];
  return literalsIn(codeNode).map((code) => ({ code, kind: helper.kind, file }));
}

/** Returns the codes in OF_HTTP of problem.filter.ts, FAILURES of vault-problem.ts and CODES of private-keys.service.ts. */
function ofTables(node: ts.Node, file: string): UsedCode[] {
  if (!ts.isVariableDeclaration(node) || node.initializer === undefined) return [];
  const rows = [...properties(node.initializer)];
  if (node.name.getText() === 'OF_HTTP')
    return rows.map(([status, row]) => ({ code: textOf(row, 'code'), kind: status, file }));
  if (node.name.getText() === 'FAILURES')
    return rows.map(([failure, row]) => ({ code: `hsm.${failure}`, kind: textOf(row, 'kind'), file }));
  if (node.name.getText() === 'CODES')
    return rows.flatMap(([, row]) => literalsIn(row)).map((code) => ({ code, kind: 'malformed', file }));
  return [];
}

function properties(node: ts.Node): Map<string, ts.Expression> {
  const object = ts.isObjectLiteralExpression(node) ? node : node.getChildren().find(ts.isObjectLiteralExpression);
  const inner = object ?? (ts.isSatisfiesExpression(node) || ts.isAsExpression(node) ? node.expression : undefined);
  if (inner === undefined) return new Map();
  if (!ts.isObjectLiteralExpression(inner)) return properties(inner);
  return new Map(
    inner.properties
      .filter(ts.isPropertyAssignment)
      .map((property) => [property.name.getText().replaceAll("'", ''), property.initializer]),
  );
}

function textOf(row: ts.Expression, name: string): string {
  const value = properties(row).get(name);
  if (value === undefined || !ts.isStringLiteral(value)) throw new Error(`no ${name} in ${row.getText()}`);
  return value.text;
}

function literalsIn(node: ts.Node): string[] {
  if (ts.isStringLiteral(node)) return [node.text];
  if (ts.isIdentifier(node)) return constantOf(node);
  if (ts.isBinaryExpression(node)) return [...literalsIn(node.left), ...literalsIn(node.right)];
  if (ts.isConditionalExpression(node)) return [...literalsIn(node.whenTrue), ...literalsIn(node.whenFalse)];
  return [];
}

/** Returns the text of a constant in the same file. */
function constantOf(name: ts.Identifier): string[] {
  return name
    .getSourceFile()
    .statements.flatMap((statement) =>
      ts.isVariableStatement(statement)
        ? statement.declarationList.declarations.flatMap(({ name: declared, initializer }) =>
            declared.getText() === name.text && initializer !== undefined && ts.isStringLiteral(initializer)
              ? [initializer.text]
              : [],
          )
        : [],
    );
}
