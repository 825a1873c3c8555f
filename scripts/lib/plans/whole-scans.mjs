import { GROWING } from './tables.mjs';

/** Rows that a limit lets through whose number is a parameter; the planner assumes a tenth of what there is. */
const DEFAULT_PAGE = 100;

/** Nodes that take all their rows before they give the first. */
const TAKES_ALL = /^(?:Sort|Hash|Aggregate|ModifyTable|WindowAgg|SetOp|Materialize|BitmapOr|BitmapAnd)$/;

/** Statements and how many whole scans each has: the check must find what it is there for, and nothing else. */
const CONTROLS = [
  ['SELECT name FROM asset a WHERE a.id::text = $1', 1],
  ['SELECT name FROM asset a WHERE a.id = $1', 0],
  // Ends with its page, whatever the filter.
  ['SELECT name FROM asset a WHERE a.version > $1 ORDER BY a.id LIMIT 51', 0],
  // The page is never full: hardly any asset has this content.
  ['SELECT name FROM asset a WHERE a.content = $1 ORDER BY a.id LIMIT 51', 1],
  ['SELECT name FROM asset a WHERE a.content = $1 ORDER BY a.id LIMIT $2', 1],
  // All are read before the first is known.
  ['SELECT name FROM asset a ORDER BY a.version LIMIT 51', 1],
];

/**
 * Finds the scans of growing tables that have no condition which an index knows. Sequential scans are the last resort here: the planner does
 * not know the parameters, and would take one for many a statement that is selective in use. One that is still there has nothing to go by.
 */
export class WholeScans {
  #client;
  #short;

  constructor(client, short) {
    this.#client = client;
    this.#short = short;
  }

  /** Sets what the planner may do, and fails when the check does not find what it should. */
  static async on(client) {
    await client.query('SET enable_seqscan = off');
    await client.query('SET max_parallel_workers_per_gather = 0');
    const scans = new WholeScans(client, await partialIndexes(client));
    for (const [text, wanted] of CONTROLS) {
      const { found, fault } = await scans.of(text);
      if (found.length !== wanted)
        throw new Error(`the check finds ${found.length} scans, not ${wanted}, in: ${text} ${fault ?? ''}`);
    }
    return scans;
  }

  /** @returns {Promise<{ found: string[], fault?: string }>} nodes of the plan that read a table whole, or why there is no plan */
  async of(text) {
    try {
      const { rows } = await this.#client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`);
      return { found: this.#in(rows[0]['QUERY PLAN'][0].Plan, false) };
    } catch (error) {
      return { found: [], fault: error.message };
    }
  }

  /** @param ends whether a limit above ends the scan after some rows */
  #in(node, ends) {
    const below = node['Node Type'] === 'Limit' ? fillsPage(node) : ends && !TAKES_ALL.test(node['Node Type']);
    const found = (node.Plans ?? []).flatMap((child) => this.#in(child, below));
    const table = node['Relation Name'];
    if (table === undefined || !GROWING.includes(table) || !node['Node Type'].endsWith('Scan')) return found;
    const goesBy = node['Index Cond'] ?? node['Recheck Cond'] ?? node['TID Cond'];
    const indexes = [node['Index Name'], ...(node.Plans ?? []).map((child) => child['Index Name'])];
    const isShort = indexes.some((name) => this.#short.has(name));
    return goesBy !== undefined || isShort || below ? found : [...found, `${node['Node Type']} of ${table}`];
  }
}

/** Indexes over a part of the rows: those of queues, which are short. */
async function partialIndexes(client) {
  const { rows } = await client.query(
    `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indpred IS NOT NULL`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** Whether there are more rows below than a limit lets through, as far as the planner can tell. If not, all are read, whatever the limit. */
function fillsPage(limit) {
  const below = limit.Plans[0]['Plan Rows'];
  const through = limit['Plan Rows'];
  const isParameter = Math.abs(through - Math.max(1, below / 10)) <= 1;
  return below > (isParameter ? Math.max(through, DEFAULT_PAGE) : through);
}
