import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { placeOf, productSources, walk } from './product-sources.js';

/** What no statement of the service may hold, and why. */
const RULES: readonly {
  readonly name: string;
  readonly pattern: RegExp;
  readonly why: string;
  readonly but?: string[];
}[] = [
  {
    name: 'an id compared as text',
    pattern: /\bid::text\s*(?:=|<>|~|IN\b|LIKE\b)|(?:=|<>)\s*(?:ANY\s*\()?\s*[\w."]*\bid::text\b/i,
    why: 'no index on the column is of use: every row of the table is read and converted. Convert the other side (uuidOf)',
  },
  {
    name: 'a system column',
    pattern: /\b(?:ctid|xmin|xmax|cmin|cmax)\b/,
    why: 'it means something else on a partitioned table, and nothing on a distributed one',
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
      'src/inventory/ingest/document.repository.ts', // only whether a document is read again for nothing
    ],
  },
];

/** Texts and templates of the service with their place; of a template the parts are joined by a space. */
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

describe('no statement of the service holds', () => {
  it.each(RULES)('$name: $why', ({ pattern, but = [] }) => {
    expect(all.filter(({ file, text }) => pattern.test(text) && !but.includes(file)).map(({ place }) => place)).toEqual(
      [],
    );
  });

  it.each([
    ['an id compared as text', 'WHERE u.id::text = k.owner_id'],
    ['an id compared as text', 'ON x.subject_id = a.id::text'],
    ['an id compared as text', 'WHERE id::text = ANY($1::text[])'],
    ['a system column', 'DELETE FROM t WHERE ctid = ANY($1)'],
    ['a lock of a session', 'SELECT pg_try_advisory_lock(1)'],
  ])('%s, as in: %s', (name, text) => {
    expect(RULES.find((rule) => rule.name === name)?.pattern.test(text)).toBe(true);
  });

  it.each(['SELECT id::text FROM t', 'pg_try_advisory_xact_lock(1)', 'u.id::text AS owner_id', "'asset:' || a.id"])(
    'and these are none: %s',
    (text) => {
      expect(RULES.filter(({ pattern }) => pattern.test(text))).toEqual([]);
    },
  );
});
