import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

/** Returns the median of the elements ordered by `by`, or the upper median for an even number of elements. */
export function middle<One>(list: readonly One[], by: (one: One) => number): One {
  const [one] = list.toSorted((a, b) => by(a) - by(b)).slice(Math.floor(list.length / 2));
  if (one === undefined) throw new Error('nothing was measured');
  return one;
}

/** An asset row in the layout for which the targets were set, in which the verdict's fields are inlined. */
const FLAT = `SELECT id, kind, name, family, bits, level, quantum, classical, rule, deadline, verdict_id, resolved_by::jsonb,
  not_before, not_after, component, content, state, owner, labels, version, first_seen, changed_at FROM judged_asset`;

/**
 * Measures a plain COPY of asset rows on this machine, into and out of a table without indexes. Rows have the layout for which the targets were set:
 * the same number of columns, and a `jsonb` component on import. Alternate this measurement with the operation under test, because the speed of previously
 * untouched memory changes from second to second.
 */
export class BareTable {
  private constructor(
    private readonly client: Client,
    readonly rows: number,
    private readonly chunks: readonly Buffer[],
  ) {}

  /** @param rows number of rows, repeating assets if necessary; by default one row per asset */
  static async open(url: string, rows?: number): Promise<BareTable> {
    const client = new Client({ connectionString: url });
    await client.connect();
    const again = `, generate_series(1, (SELECT ceil(${rows}::numeric / count(*))::int FROM asset)) LIMIT ${rows}`;
    await client.query(
      `DROP TABLE IF EXISTS flat, bare; CREATE TABLE flat AS SELECT f.* FROM (${FLAT}) f${rows === undefined ? '' : again}`,
    );
    if (rows === undefined) return new BareTable(client, await countOf(client, 'flat'), []);
    const chunks: Buffer[] = [];
    for await (const chunk of client.query(copyTo('COPY flat TO STDOUT'))) chunks.push(chunk as Buffer);
    await client.query('CREATE TABLE bare (LIKE flat); ALTER TABLE bare ALTER component TYPE jsonb USING NULL');
    return new BareTable(client, rows, chunks);
  }

  /** Imports all rows and returns rows per second. */
  async copyIn(): Promise<number> {
    await this.client.query('TRUNCATE bare');
    const { client, chunks } = this;
    return (
      this.rows / (await seconds(() => pipeline(Readable.from(chunks), client.query(copyFrom('COPY bare FROM STDIN')))))
    );
  }

  /** Exports all rows and returns rows per second. */
  async copyOut(): Promise<number> {
    const time = await seconds(async () => {
      for await (const _chunk of this.client.query(copyTo('COPY flat TO STDOUT')));
    });
    return this.rows / time;
  }

  async close(): Promise<void> {
    await this.client.query('DROP TABLE IF EXISTS flat, bare');
    await this.client.end();
  }
}

async function countOf(client: Client, table: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
  return rows[0]?.count ?? 0;
}

/** Duplicates all rows except algorithms under new IDs until there are about `total` rows. Returns the resulting number of assets. */
export async function fill(url: string, total: number, there: number): Promise<number> {
  const copies = Math.max(0, Math.round(total / there) - 1);
  const id = (of: string) => `md5(${of}::text || n)::uuid`;
  return withClient(url, async (client) => {
    const columns = `kind, name, verdict_id, resolved_by, not_before, not_after, component, content`;
    await client.query(
      `INSERT INTO asset (id, ${columns}) SELECT ${id('id')}, ${columns} FROM asset, generate_series(1, ${copies}) n WHERE kind <> 'algorithm' ORDER BY 1`,
    );
    await client.query(
      `INSERT INTO asset_occurrence (asset_id, source_id, id, location, line) SELECT ${id('asset_id')}, source_id, id, location, line
       FROM asset_occurrence, generate_series(1, ${copies}) n WHERE location <> '' ORDER BY 1`,
    );
    await client.query(
      `INSERT INTO asset_relationship (from_id, to_id, source_id, kinds) SELECT ${id('from_id')}, to_id, source_id, kinds
       FROM asset_relationship, generate_series(1, ${copies}) n ORDER BY 1`,
    );
    await client.query(`UPDATE inventory_tally SET count = count * ${copies + 1}`);
    await client.query('VACUUM ANALYZE asset, asset_occurrence, asset_relationship');
    return countOf(client, 'asset');
  });
}
