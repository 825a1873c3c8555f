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

/** Of an even number the one behind the middle. */
export function middle<One>(list: readonly One[], by: (one: One) => number): One {
  const [one] = list.toSorted((a, b) => by(a) - by(b)).slice(Math.floor(list.length / 2));
  if (one === undefined) throw new Error('nothing was measured');
  return one;
}

/** Once says little: how fast memory is that nobody has touched changes from one second to the next. */
const ROUNDS = 3;

async function middleSeconds(before: () => unknown, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await before();
    times.push(await seconds(work));
  }
  return middle(times, (time) => time);
}

/** A row of an asset as it was when the targets were set: with what its verdict says. */
const FLAT = `CREATE TABLE flat AS SELECT id, kind, name, family, bits, level, quantum, classical, rule, deadline, verdict_id, resolved_by::jsonb,
  not_before, not_after, component, content, state, owner, labels, version, first_seen, changed_at FROM judged_asset`;

/**
 * Rows of assets per second that this machine's plain COPY brings into a table without any index (L), and out of one. Rows are those of
 * when the targets were set: as many columns, and a component that is `jsonb` on its way in.
 */
export function copyLimits(url: string): Promise<{ into: number; out: number }> {
  return withClient(url, async (client) => {
    let chunks: Buffer[] = [];
    await client.query(`DROP TABLE IF EXISTS flat, bare; ${FLAT}`);
    const outTime = await middleSeconds(
      () => (chunks = []),
      async () => {
        for await (const chunk of client.query(copyTo('COPY flat TO STDOUT'))) chunks.push(chunk as Buffer);
      },
    );
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM flat');
    const bare = 'CREATE TABLE bare (LIKE flat); ALTER TABLE bare ALTER component TYPE jsonb USING NULL';
    await client.query(bare);
    const inTime = await middleSeconds(
      () => client.query('TRUNCATE bare'),
      () => pipeline(Readable.from(chunks), client.query(copyFrom('COPY bare FROM STDIN'))),
    );
    await client.query('DROP TABLE flat, bare');
    const count = rows[0]?.count ?? 0;
    return { into: count / inTime, out: count / outTime };
  });
}

/** Every row but the algorithms again and again, under other ids, until there are about so many. Answers how many there are. */
export async function fill(url: string, total: number, there: number): Promise<number> {
  const copies = Math.round(total / there) - 1;
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
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM asset');
    return rows[0]?.count ?? 0;
  });
}
