import { GROWING } from './tables.mjs';

/** Row count assumed for a LIMIT clause whose value is a parameter. The planner would assume a tenth of the rows. */
const DEFAULT_PAGE = 100;

/** Plan nodes that consume all their input before they return the first row. */
const TAKES_ALL = /^(?:Sort|Hash|Aggregate|ModifyTable|WindowAgg|SetOp|Materialize|BitmapOr|BitmapAnd)$/;

/** Control statements with the expected number of whole scans. The control statements verify that the check finds exactly these scans. */
const CONTROLS = [
  ['SELECT name FROM asset a WHERE a.id::text = $1', 1],
  ['SELECT name FROM asset a WHERE a.id = $1', 0],
  // The scan ends as soon as the page is full, regardless of the filter.
  ['SELECT name FROM asset a WHERE a.version > $1 ORDER BY a.id LIMIT 51', 0],
  // The page is never full, because hardly any asset has this content.
  ['SELECT name FROM asset a WHERE a.content = $1 ORDER BY a.id LIMIT 51', 1],
  ['SELECT name FROM asset a WHERE a.content = $1 ORDER BY a.id LIMIT $2', 1],
  // All rows are read before the first row is returned.
  ['SELECT name FROM asset a ORDER BY a.version LIMIT 51', 1],
];

/**
 * WholeScans finds scans of growing tables without an indexable condition. Sequential scans are disabled as far as possible, because the planner does not know
 * the parameters and would choose a sequential scan for statements that are selective in practice. A remaining sequential scan means that there is no usable
 * index.
 */
export class WholeScans {
  #client;
  #short;

  constructor(client, short) {
    this.#client = client;
    this.#short = short;
  }

  /** Configures the planner. Throws if the check does not find the expected scans in the control statements. */
  static async on(client) {
    await client.query('SET enable_seqscan = off');
    await client.query('SET max_parallel_workers_per_gather = 0');
    const scans = new WholeScans(client, await partialIndexes(client));
    for (const [text, wanted] of CONTROLS) {
      const { found, fault } = await scans.of(text);
      if (found.length !== wanted)
        throw new Error(`the check finds ${found.length} scans instead of ${wanted} in: ${text} ${fault ?? ''}`);
    }
    return scans;
  }

  /** @returns {Promise<{ found: string[], fault?: string }>} plan nodes that scan a whole table, or the reason why there is no plan */
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

/** Returns the partial indexes, which are small because they cover queues. */
async function partialIndexes(client) {
  const { rows } = await client.query(
    `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indpred IS NOT NULL`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** Reports whether the planner expects more rows than the limit returns. Otherwise, all rows are read despite the limit. */
function fillsPage(limit) {
  const below = limit.Plans[0]['Plan Rows'];
  const through = limit['Plan Rows'];
  const isParameter = Math.abs(through - Math.max(1, below / 10)) <= 1;
  return below > (isParameter ? Math.max(through, DEFAULT_PAGE) : through);
}
