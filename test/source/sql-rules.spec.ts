import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { placeOf, productSources, ROOT, walk } from './product-sources.js';

/** An ID, or a column that refers to one, cast to text: `u.id::text`, `k."owner_id"::varchar`, `CAST(u.id AS text)`. */
const ID_AS_TEXT = String.raw`(?:\b(?:\w+_)?id"?\s*::\s*(?:text|varchar)\b|\bCAST\(\s*[\w."]*\b(?:\w+_)?id"?\s+AS\s+(?:text|varchar)\s*\))`;
const COMPARED = String.raw`(?:=|<|>|!=|~|\^@|(?:NOT\s+)?(?:IN|I?LIKE)\b)`;

/** Constructs that are forbidden in the service's statements, each with the reason. */
const RULES: readonly {
  readonly name: string;
  readonly pattern: RegExp;
  readonly why: string;
  readonly but?: string[];
}[] = [
  {
    name: 'an id compared as text',
    pattern: new RegExp(
      `${ID_AS_TEXT}\\s*${COMPARED}|(?:${COMPARED})\\s*(?:(?:ANY|ALL)\\s*)?\\(?\\s*(?:SELECT\\s+)?[\\w."]*${ID_AS_TEXT}`,
      'i',
    ),
    why: 'no index on the column is of use: every row of the table is read and converted. Convert the other side (uuidOf)',
    // The ID is compared with an indexed column that is text by design.
    but: ['src/auth/rights/secret-disclosures.ts', 'src/cli/doctor/left-behind.ts'],
  },
  {
    name: 'a system column',
    pattern: /\b(?:ctid|xmin|xmax|cmin|cmax)\b/,
    why: 'it means something else on a partitioned table, and nothing on a distributed one',
    but: ['src/platform/sealing/catalogue-rules.ts'], // reads the version of catalogue rows intentionally
  },
  {
    name: 'a lock of a session',
    pattern: /\bpg_(?:try_)?advisory_(?:lock|unlock)\b/,
    why: 'a pool of connections in between gives the session to somebody else: take a lease (JobLeases) or a lock of the transaction',
  },
  {
    name: 'activity of other sessions',
    pattern: /\bpg_stat_activity\b/,
    why: 'it shows this node only, and hides what other roles do: it may be shown, and nothing may depend on it',
    but: [
      'src/system/operations/operations.reader.ts', // shown as a metric
      'src/cli/doctor/examinations.ts', // shows the holder of a lock
      'src/inventory/intake/staging/document.repository.ts', // only decides whether a document is needlessly read again
    ],
  },
];

/** Returns the string literals and templates of the service with their location. The parts of a template are joined by a space. */
function texts(): { place: string; file: string; text: string }[] {
  return productSources()
    .filter(({ path }) => path.startsWith('src/') && !path.startsWith('src/client/'))
    .flatMap((source) => {
      const found: { place: string; file: string; text: string }[] = [];
      walk(source.tree, (node) => {
        const text = ts.isStringLiteralLike(node)
          ? node.text
          : ts.isTemplateExpression(node)
            ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join(' ')
            : undefined;
        if (text !== undefined) found.push({ place: placeOf(source, node), file: source.path, text });
      });
      return found;
    });
}

const all = texts();

describe('no SQL statement of the service contains', () => {
  it.each(RULES)('$name: $why', ({ pattern, but = [] }) => {
    expect(all.filter(({ file, text }) => pattern.test(text) && !but.includes(file)).map(({ place }) => place)).toEqual(
      [],
    );
  });

  it.each([
    ['an id compared as text', 'WHERE u.id::text = k.owner_id'],
    ['an id compared as text', 'ON x.subject_id = a.id::text'],
    ['an id compared as text', 'WHERE id::text = ANY($1::text[])'],
    ['an id compared as text', 'WHERE "k"."owner_id"::text = $1'],
    ['an id compared as text', 'WHERE CAST(u.id AS text) = k.owner_id'],
    ['an id compared as text', 'WHERE k.owner_id IN (SELECT u.id::text FROM user_account u)'],
    ['an id compared as text', 'WHERE a.id::varchar LIKE $1'],
    ['a system column', 'DELETE FROM t WHERE ctid = ANY($1)'],
    ['a lock of a session', 'SELECT pg_try_advisory_lock(1)'],
  ])('%s, as in: %s', (name, text) => {
    expect(RULES.find((rule) => rule.name === name)?.pattern.test(text)).toBe(true);
  });

  it.each([
    'SELECT id::text FROM t',
    'CAST(id AS text) AS name',
    'pg_try_advisory_xact_lock(1)',
    'u.id::text AS owner_id',
    "'asset:' || a.id",
  ])('a forbidden pattern, unlike: %s', (text) => {
    expect(RULES.filter(({ pattern }) => pattern.test(text))).toEqual([]);
  });
});

/** Statements that are allowed to read a whole growing table. The check `plans` verifies that every exception is needed. */
const READS_ALL = JSON.parse(readFileSync(join(ROOT, 'scripts/lib/plans/statements-that-read-all.json'), 'utf8')) as {
  readonly file: string;
  readonly holds: string;
  readonly why: string;
}[];

describe('a statement that may scan a whole growing table', () => {
  it.each(READS_ALL)('exists in $file, with a reason', ({ file, holds, why }) => {
    expect(readFileSync(join(ROOT, file), 'utf8').replaceAll(/\s+/g, ' ')).toContain(holds);
    expect(why).toMatch(/^.{30,}\.$/);
  });

  it('is matched by exactly one exception, which matches nothing else', () => {
    for (const { holds } of READS_ALL) {
      expect(all.filter(({ text }) => text.replaceAll(/\s+/g, ' ').includes(holds))).toHaveLength(1);
    }
  });
});
