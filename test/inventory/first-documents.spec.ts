import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

/** Number of rows that noticeably delays the first reader. */
const MANY = 5000;
const HEADERS = { 'content-type': 'application/vnd.cyclonedx+json' };

let stage: Stage;
let services: Service[];
let key: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  services = [await stage.start({ role: 'api' }), await stage.start({ role: 'api' })];
});
afterAll(() => stage.close());

const ingest = (body: object, service = services[0]) =>
  (service as Service).call('POST', '/api/ingest', { key, body, headers: HEADERS });

function certificate(name: string, validity: object): Record<string, unknown> {
  return {
    type: 'cryptographic-asset',
    'bom-ref': name,
    name,
    cryptoProperties: { assetType: 'certificate', certificateProperties: { subjectName: name, ...validity } },
  };
}

/**
 * Returns the total number of occurrences written so far, including those written by transactions that were rolled back. All services are stopped first,
 * because a connection reports its statistics only after some seconds or when the connection ends.
 */
async function placesEverWritten(): Promise<number> {
  for (const service of services.splice(0)) await service.kill();
  await until('all connections to end', 60, async () => {
    const [row] = await stage.sql<{ others: number }>(
      `SELECT count(*)::int AS others FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    );
    return row?.others === 0;
  });
  const [row] = await stage.sql<{ places: number }>(
    `SELECT n_tup_ins::int AS places FROM pg_stat_user_tables WHERE relname = 'asset_occurrence'`,
  );
  return row?.places ?? 0;
}

describe('the first document of a source', () => {
  it('is stored unchanged, whatever its texts and times contain', async () => {
    const texts = [
      'tab\tand\nlines\r',
      String.raw`\N \. \\ \t`,
      '"quoted" {json} \u0001',
      'ключ 🔑 钥',
      'x'.repeat(480),
    ];
    const components = texts.map((text, index) => {
      const asset = material(`${text} ${index}`, { type: 'public-key', id: `text-of-a-long-key-${index}` });
      const place = { location: text, line: 2 ** 31 - 1, offset: 0, symbol: text, additionalContext: text };
      return { ...asset, evidence: { occurrences: [place] } };
    });
    const { body } = await ingest(bom(components, about('texts')));
    expect(body).toMatchObject({ created: texts.length, rejected: [] });
    const rows = await stage.sql(
      `SELECT a.name, a.component->>'name' AS same, o.location, o.line, o.position, o.symbol, o.context FROM asset a
       JOIN asset_occurrence o ON o.asset_id = a.id WHERE a.component::text LIKE '%text-of-a-long-key%'
       ORDER BY a.component::json #>> '{cryptoProperties,relatedCryptoMaterialProperties,id}'`,
    );
    expect(rows).toEqual(
      texts.map((text, index) => {
        const name = `${text} ${index}`;
        return { name, same: name, location: text, line: 2 ** 31 - 1, position: 0, symbol: text, context: text };
      }),
    );
  });

  it('keeps every possible certificate time', async () => {
    const times = [
      ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'],
      ['1969-12-31T23:59:59.001Z', '2000-01-01T00:00:00Z'],
      ['2024-02-29T12:00:00+05:30', '2262-04-11T23:47:16.854Z'],
      ['1999-12-31t23:59:59z', '2038-01-19 03:14:08Z'],
    ];
    const components = times.map(([notValidBefore, notValidAfter], index) =>
      certificate(`time ${index}`, { notValidBefore, notValidAfter }),
    );
    expect((await ingest(bom(components, about('times')))).body).toMatchObject({ created: times.length });
    const rows = await stage.sql(
      `SELECT to_char(not_before AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "before",
         to_char(not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "after"
       FROM asset WHERE name LIKE 'time %' ORDER BY name`,
    );
    expect(rows).toEqual(
      times.map(([before = '', after = '']) => ({
        before: new Date(before).toISOString(),
        after: new Date(after).toISOString(),
      })),
    );
  });

  it('counts a repeated asset as one with all its locations', async () => {
    const twice = [
      algorithm({ name: 'Camellia-256', ref: 'a', at: 'one.c' }),
      algorithm({ name: 'Aria-256', ref: 'b' }),
      algorithm({ name: 'CAMELLIA-256', ref: 'c', at: 'one.c' }),
      algorithm({ name: 'camellia-256', ref: 'd', at: 'two.c' }),
      algorithm({ name: 'ARIA-256', ref: 'e', at: 'three.c' }),
    ];
    expect((await ingest(bom(twice, about('twice')))).body).toMatchObject({ created: 2 });
    const places = `SELECT a.name, string_agg(o.location, ' ' ORDER BY o.location) AS "where" FROM asset a
      JOIN asset_occurrence o ON o.asset_id = a.id WHERE a.name IN ('Camellia-256', 'Aria-256') GROUP BY 1 ORDER BY 1`;
    expect(await stage.sql(places)).toEqual([
      { name: 'Aria-256', where: 'three.c' },
      { name: 'Camellia-256', where: 'one.c two.c' },
    ]);
  });

  it('is stored completely when others concurrently report the same new assets to other processes', async () => {
    const count = 2000;
    const keys = Array.from({ length: count }, (_, index) => ({
      ...material(`key ${index}`, { type: 'public-key', id: `key-of-many-sources-${index}`, algorithmRef: 'RSA-4096' }),
      evidence: { occurrences: [{ location: `host-${index}` }] },
    }));
    const sources = ['north', 'south', 'east', 'west', 'up', 'down'];
    const answers = await Promise.all(
      sources.map((name, index) => {
        const some = index % 2 === 0 ? keys : keys.toReversed();
        return ingest(bom([algorithm({ name: 'RSA-4096' }), ...some], about(name)), services[index % 2]);
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(sources.map(() => 200));
    expect(answers.reduce((sum, { body }) => sum + body.created, 0)).toBe(count + 1);
    const [rows] = await stage.sql(
      `SELECT (SELECT count(*)::int FROM asset_occurrence WHERE location LIKE 'host-%') AS places,
         (SELECT count(*)::int FROM asset_relationship r JOIN asset t ON t.id = r.to_id WHERE t.name = 'RSA-4096') AS edges,
         (SELECT sum(count) FROM inventory_tally WHERE dimension = 'kind')::int - (SELECT count(*)::int FROM asset) AS miscounted`,
    );
    expect(rows).toEqual({ places: sources.length * count, edges: sources.length * count, miscounted: 0 });
  });

  it('is written once when another document with the same new assets is processed concurrently', async () => {
    const before = await placesEverWritten();
    const service = await stage.start({ role: 'api' });
    const set = randomUUID();
    const keys = Array.from({ length: 4000 }, (_, index) =>
      material(`key ${index}`, { type: 'public-key', id: `${set} ${index}` }, `${set}/${index}`),
    );
    const documents = ['left', 'right'].map((side) => ingest(bom(keys, about(`${side} of ${set}`)), service));
    for (const { status } of await Promise.all(documents)) expect(status).toBe(200);
    await service.kill();
    expect((await placesEverWritten()) - before).toBe(2 * keys.length);
  });

  it('leaves pages all-visible, and does not wait for table locks', async () => {
    const service = await stage.start({ role: 'api' });
    const keys = (source: string) =>
      ingest(
        bom(
          Array.from({ length: MANY }, (_, i) =>
            material(`${source} ${i}`, { type: 'public-key', id: `a key of ${source} ${i}` }, `${i}.pem`),
          ),
          about(source),
        ),
        service,
      );
    const pages = async (query: string) => (await stage.sql<{ pages: number }>(query))[0]?.pages;
    const written = () => pages('SELECT count(DISTINCT (ctid::text::point)[0])::int AS pages FROM asset');
    const visible = () => pages(`SELECT relallvisible AS pages FROM pg_class WHERE relname = 'asset'`);
    // Autovacuum removes the rows of transactions that were rolled back because other documents had inserted the same assets.
    await stage.sql('VACUUM (INDEX_CLEANUP ON) asset');
    // A concurrent reader can prevent pages from being marked as all-visible. The import of the next document then marks these pages.
    let round = 0;
    await until('all pages to be seen by all', 30, async () => {
      expect((await keys(`document ${(round += 1)}`)).body).toMatchObject({ created: MANY });
      return (await visible()) === (await written());
    });
    const seen = await visible();
    const holder = new Client({ connectionString: stage.databaseUrl });
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE asset IN SHARE UPDATE EXCLUSIVE MODE');
    expect((await keys('held')).body).toMatchObject({ created: MANY });
    expect(await visible()).toBe(seen);
    await holder.end();
  });
});
