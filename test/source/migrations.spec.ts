import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { ROOT, walk } from './product-sources.js';

/** First migration that may run under load. Earlier migrations are part of the baseline, which creates an empty schema. */
const FIRST = 1_798_000_048_300;
/** Tables that stay small enough for any statement to be fast, for example because administrators create the rows. */
const SMALL = new Set([
  'schema_epoch',
  'job_lease',
  'service_instance',
  'risk_rule_set',
  'alert_rule',
  'identity_provider',
  'seal_format',
]);

interface Migration {
  readonly name: string;
  /** Doc comment of the class. */
  readonly says: string;
  readonly isOneTransaction: boolean;
  /** Statements of `up`, each as a single line. */
  readonly statements: readonly string[];
  /** Tables whose indexes `up` creates concurrently. */
  readonly concurrently: readonly string[];
}

function read(name: string, text: string): Migration {
  const tree = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found = { says: '', isOneTransaction: !/transaction = false/.test(text) };
  const statements: string[] = [];
  const concurrently: string[] = [];
  walk(tree, (node) => {
    if (ts.isClassDeclaration(node)) found.says = text.slice(node.getFullStart(), node.getStart(tree));
    if (!ts.isMethodDeclaration(node) || node.name.getText(tree) !== 'up') return;
    walk(node, (inner) => {
      if (!ts.isCallExpression(inner)) return;
      const [first, , table] = inner.arguments;
      if (inner.expression.getText(tree) === 'createIndexConcurrently' && table !== undefined)
        concurrently.push(textOf(table));
      if (inner.expression.getText(tree).endsWith('.query') && first !== undefined)
        statements.push(textOf(first).replaceAll(/\s+/g, ' ').replaceAll('"', '').trim());
    });
  });
  return { name, ...found, statements, concurrently };
}

/** Statements that process all rows of a table, or lock the table against writes or even reads. */
const HELD: readonly [pattern: RegExp, fault: string][] = [
  [
    /\bADD (?:COLUMN )?(?:IF NOT EXISTS )?\w+ .*(?:DEFAULT [^,]*\b(?:random|gen_random_uuid|uuidv[47]|clock_timestamp|nextval)\(|\bGENERATED ALWAYS AS\b(?! IDENTITY))/i,
    'rewrites the table: the value differs from row to row',
  ],
  [
    /\bADD (?:CONSTRAINT \w+ )?(?:PRIMARY KEY|UNIQUE|EXCLUDE)\b(?!.*\bUSING INDEX\b)/i,
    'makes an index under a lock: createIndexConcurrently, then USING INDEX',
  ],
  [/\bSET (?:LOGGED|UNLOGGED|TABLESPACE)\b/i, 'rewrites the table'],
  [
    /^(?:LOCK TABLE|TRUNCATE|CLUSTER|VACUUM \(?FULL|REINDEX(?!.*CONCURRENTLY)|REFRESH MATERIALIZED VIEW(?! CONCURRENTLY))/i,
    'keeps the table for itself',
  ],
  [
    /^(?:UPDATE|DELETE FROM|MERGE INTO|WITH\b.*\b(?:UPDATE|DELETE FROM|MERGE INTO) )/i,
    'rewrites rows in one statement: do it by a job',
  ],
];

/** Returns the table from which INSERT … SELECT copies rows. Ignores subqueries in parentheses such as EXISTS (…). */
function copiesFrom(statement: string): string[] {
  const flat = statement.replaceAll(/\([^()]*\)/g, '').replaceAll(/\([^()]*\)/g, '');
  const source = /^INSERT INTO .*?\bSELECT\b.*?\bFROM (\w+)/i.exec(flat)?.[1];
  return source === undefined ? [] : [source];
}

/** Returns the faults of a statement, for example that the statement processes many rows or cannot be analysed. */
function workFaults(one: string, isFree: (table: string) => boolean, isOneTransaction: boolean): (string | false)[] {
  return [
    copiesFrom(one).some((source) => !isFree(source)) && `copies rows in one statement: do it by a job: ${one}`,
    /\bVALIDATE CONSTRAINT\b/i.test(one) &&
      isOneTransaction &&
      `reads the table under the locks of what came before it: transaction = false: ${one}`,
    !/^\w+ /.test(one) && `is not written out, so that nothing can be said about it: ${one}`,
  ];
}

function textOf(node: ts.Expression): string {
  return node.getText().replaceAll(/^[`']|[`']$/g, '');
}

const migrations = globSync('src/platform/database/migrations/*.ts', { cwd: ROOT })
  .filter((file) => Number(/^(\d{13})/.exec(basename(file))?.[1] ?? 0) >= FIRST)
  .map((file) => read(basename(file), readFileSync(join(ROOT, file), 'utf8')));

const BREAKING =
  /\bDROP (?:TABLE|COLUMN|VIEW|CONSTRAINT|DEFAULT)\b|\bRENAME\b|\bALTER COLUMN \S+ (?:SET DATA )?TYPE\b|\bSET NOT NULL\b/i;
const CONTRACT = /Contract: epoch (\d+)/;

/** Reports whether the migration adds the dropped constraint again in another form. */
function isReplaced(statement: string, statements: readonly string[]): boolean {
  const name = /^ALTER TABLE \w+ DROP CONSTRAINT (\w+)$/i.exec(statement)?.[1];
  return name !== undefined && statements.some((one) => one.includes(`ADD CONSTRAINT ${name} `));
}

/** Returns the reasons why a migration cannot run while the previous version is running under load. */
function faultsOf({ says, statements, isOneTransaction, concurrently }: Migration): string[] {
  const made = statements.flatMap((one) => /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/i.exec(one)?.[1] ?? []);
  const isFree = (table: string) => made.includes(table) || SMALL.has(table);
  const epoch = CONTRACT.exec(says)?.[1];
  const raises = statements.some((one) => /UPDATE schema_epoch SET/i.test(one));
  const faults = statements.flatMap((one) => {
    const table =
      /(?:ALTER TABLE(?: ONLY)?|UPDATE|DELETE FROM|INDEX \w+ ON(?: ONLY)?|VIEW) (\w+)/i.exec(one)?.[1] ?? '';
    const is = (pattern: RegExp) => pattern.test(one) && !isFree(table);
    return [
      BREAKING.test(one) &&
        !isReplaced(one, statements) &&
        !made.includes(table) &&
        (epoch === undefined || !raises) &&
        `takes away what the version before uses: ${one}`,
      is(/\bADD (?:COLUMN )?(?!CONSTRAINT)\w+ .*NOT NULL/i) &&
        !/DEFAULT/i.test(one) &&
        `the version before does not fill this column: ${one}`,
      is(/^CREATE (?:UNIQUE )?INDEX/i) && `locks the table: use createIndexConcurrently: ${one}`,
      ...workFaults(one, isFree, isOneTransaction),
      ...HELD.map(([pattern, fault]) => is(pattern) && `${fault}: ${one}`),
      is(/\bADD CONSTRAINT .*(?:CHECK|FOREIGN KEY)/i) &&
        !/NOT VALID/i.test(one) &&
        `reads the table under a lock: NOT VALID, and validate later: ${one}`,
    ].filter((fault): fault is string => typeof fault === 'string');
  });
  if (concurrently.length > 0 && isOneTransaction)
    faults.push('an index cannot be made concurrently in a transaction: transaction = false');
  return faults;
}

describe('a migration can run next to the previous version under load', () => {
  it.each(migrations.map((migration) => [migration.name, migration] as const))('including %s', (_, migration) => {
    expect(migration.statements.length + migration.concurrently.length).toBeGreaterThan(0);
    expect(faultsOf(migration)).toEqual([]);
  });

  const of = (says: string, ...statements: string[]) =>
    faultsOf(
      read(
        'x.ts',
        `/** ${says} */\nexport class X { async up(q) { ${statements.map((one) => `await q.query(\`${one}\`);`).join(' ')} } }`,
      ),
    );

  it.each([
    'ALTER TABLE "sensor" DROP COLUMN "old_api_key_id"',
    'ALTER TABLE "asset" RENAME COLUMN "a" TO "b"',
    'ALTER TABLE "asset" ALTER COLUMN "bits" TYPE bigint',
    'ALTER TABLE "asset" ALTER COLUMN "bits" SET NOT NULL',
    'ALTER TABLE "asset" ADD "colour" text NOT NULL',
    'CREATE INDEX "x" ON "asset" ("name")',
    'UPDATE "asset" SET "name" = lower("name")',
    'ALTER TABLE "asset" ADD CONSTRAINT "c" CHECK (bits > 0)',
    'DROP TABLE "sensor"',
    'ALTER TABLE "asset" ADD "token" uuid NOT NULL DEFAULT gen_random_uuid()',
    'ALTER TABLE "asset" ADD "lower" text GENERATED ALWAYS AS (lower(name)) STORED',
    'ALTER TABLE "asset" ADD CONSTRAINT "u" UNIQUE (name)',
    'ALTER TABLE "asset" ADD PRIMARY KEY (id)',
    'ALTER TABLE "asset" SET UNLOGGED',
    'ALTER TABLE "asset" VALIDATE CONSTRAINT "c"',
    'LOCK TABLE "asset" IN EXCLUSIVE MODE',
    'TRUNCATE "asset"',
    'REINDEX TABLE "asset"',
    'WITH old AS (SELECT id FROM asset) UPDATE asset SET name = NULL FROM old WHERE old.id = asset.id',
    'INSERT INTO "risk_rule_set" (id) SELECT id FROM asset',
  ])('but not with %s', (statement) => {
    expect(of('Something.', statement)).toHaveLength(1);
  });

  it.each([
    ['ALTER TABLE "asset" ADD "colour" text'],
    [`ALTER TABLE "asset" ADD "colour" text NOT NULL DEFAULT ''`],
    ['ALTER TABLE "asset" ADD CONSTRAINT "u" UNIQUE USING INDEX "asset_u"'],
    ['ALTER TABLE "asset" ADD "seen" timestamptz NOT NULL DEFAULT now()'],
    ['CREATE TABLE "new" ("id" uuid NOT NULL)', 'CREATE INDEX "x" ON "new" ("id")', 'UPDATE "new" SET "id" = NULL'],
  ])('including with %s', (...statements) => {
    expect(of('Something.', ...statements)).toEqual([]);
  });

  it('but not with a statement defined elsewhere', () => {
    const text = 'export class X { async up(q) { await q.query(STATEMENT); } }';
    expect(faultsOf(read('x.ts', text))).toHaveLength(1);
  });

  it('and may drop what no version uses any more, if its comment announces it and it raises the epoch', () => {
    const drop = 'ALTER TABLE "sensor" DROP COLUMN "old_api_key_id"';
    expect(of('Contract: epoch 2.', drop, 'UPDATE schema_epoch SET min_reader = 2, min_writer = 2')).toEqual([]);
    expect(of('Contract: epoch 2.', drop)).toHaveLength(1);
    expect(of('Something.', drop, 'UPDATE schema_epoch SET min_reader = 2, min_writer = 2')).toHaveLength(1);
  });
});
