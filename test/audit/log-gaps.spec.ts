import { afterAll, beforeAll, expect, it } from 'vitest';
import { IS_UNLOGGED } from '../../src/audit/log/log-gaps.js';
import { openStage, type Stage } from '../support/stage.js';

const LEAVES = 40_000;
const ENTRIES = 1000;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  // Preserves the planner statistics of a new database with empty tables.
  for (const table of ['log_leaf', 'log_waiting', 'log_head', 'audit_entry'])
    await stage.sql(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  await stage.sql(
    `INSERT INTO log_leaf (index, entry_id, kind) SELECT n, gen_random_uuid(), 'entry' FROM generate_series(0, $1::int - 1) n`,
    [LEAVES],
  );
  await stage.sql('UPDATE log_head SET size = $1', [LEAVES]);
});
afterAll(() => stage.close());

it('a log entry is found through its index, even without PostgreSQL statistics for the log', async () => {
  const [row] = await stage.sql<{ 'QUERY PLAN': [{ Plan: object }] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) WITH part AS MATERIALIZED (
       SELECT entry_id AS id FROM log_leaf WHERE index >= ${LEAVES - ENTRIES} ORDER BY index LIMIT ${ENTRIES})
     SELECT count(*) FROM part e WHERE ${IS_UNLOGGED}`,
  );
  const looks = nodesOf(row?.['QUERY PLAN'][0].Plan ?? {}).filter((node) => node['Actual Loops'] === ENTRIES);
  expect(looks.map((node) => node['Index Name'])).toContain('log_leaf_entry');
  expect(Math.max(...looks.map((node) => node['Actual Rows'] ?? 0))).toBe(1);
});

interface PlanNode {
  readonly 'Index Name'?: string;
  readonly 'Actual Loops'?: number;
  readonly 'Actual Rows'?: number;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
