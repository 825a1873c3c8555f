import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  const names = Array.from({ length: 50 }, (_, index) => `RSA-${1024 + index}`);
  const assets = names.map((name) => ({
    component: { type: 'cryptographic-asset', name, cryptoProperties: { assetType: 'algorithm' } },
  }));
  await service.call('POST', '/api/ingest', { key: apiKey, body: { source: 'counted', complete: true, assets } });
});
afterAll(() => stage.close());

interface Ended {
  readonly code: number;
  readonly said: string;
}

/** Runs `cli reconcile-counts`. */
async function reconcile(): Promise<Ended> {
  const env = { ...process.env, ...stage.settings };
  const cli = join(import.meta.dirname, '../../dist/cli.js');
  return promisify(execFile)(process.execPath, [cli, 'reconcile-counts'], { env }).then(
    ({ stdout }) => ({ code: 0, said: stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, said: stdout }),
  );
}

const tally = () =>
  stage.sql(
    `SELECT dimension, value, level, sum(count)::int AS count FROM inventory_tally GROUP BY 1, 2, 3 HAVING sum(count) <> 0 ORDER BY 1, 2, 3`,
  );
const ofSource = () =>
  stage.sql(
    `SELECT c.total, c.levels, c.unjudged FROM inventory_source_count c JOIN inventory_source s ON s.id = c.source_id WHERE s.name = 'counted'`,
  );

it('reconciliation leaves correct counts unchanged', async () => {
  await until('the source is counted', 30, async () => (await ofSource()).length === 1);
  expect(await reconcile()).toEqual({ code: 0, said: expect.stringContaining('All counts are correct.') });
});

it('reconciliation detects, reports and repairs wrong counts: too few, too many or for nothing', async () => {
  const [right, rightOfSource] = [await tally(), await ofSource()];
  await stage.sql(`DELETE FROM inventory_tally WHERE dimension = 'kind'`);
  await stage.sql(`UPDATE inventory_tally SET count = count + 500 WHERE dimension = 'verdict'`);
  await stage.sql(`INSERT INTO inventory_tally VALUES ('owner', 'nobody', 0, 3, 7)`);
  await stage.sql(`UPDATE inventory_source_count SET total = 1`);
  const { code, said } = await reconcile();
  expect(code).toBe(1);
  expect(said).toMatch(/repaired \d+ wrong counts of kind/);
  expect(said).toMatch(/repaired 1 wrong counts of owner, off by 7 in total/);
  expect(said).toMatch(/repaired \d+ wrong counts of verdict/);
  expect(said).toMatch(/sources with wrong counts/);
  expect(await tally()).toEqual(right);
  await until('the source is counted again', 30, async () => {
    const found = await ofSource();
    return JSON.stringify(found) === JSON.stringify(rightOfSource);
  });
  const entries = await stage.sql(
    `SELECT action, actor_kind FROM audit_entry WHERE action = 'inventory.counts-repaired'`,
  );
  expect(entries).toEqual([{ action: 'inventory.counts-repaired', actor_kind: 'system' }]);
  expect((await reconcile()).code).toBe(0);
});

it('reconciliation detects, reports and repairs states that occurrences do not support, and their counts', async () => {
  const right = await tally();
  await stage.sql(`UPDATE asset SET state = 'resolved' WHERE id IN (SELECT id FROM asset ORDER BY id LIMIT 3)`);
  const { code, said } = await reconcile();
  expect(code).toBe(1);
  expect(said).toContain('repaired the state of 3 assets that differed from their occurrences');
  expect(await stage.sql(`SELECT DISTINCT state FROM asset`)).toEqual([{ state: 'active' }]);
  expect(await tally()).toEqual(right);
});

it('reconciliation keeps counts correct that documents change concurrently', async () => {
  await stage.sql(`UPDATE inventory_tally SET count = count + 3 WHERE dimension = 'state'`);
  const assets = (part: number) =>
    Array.from({ length: 20 }, (_, index) => ({
      component: {
        type: 'cryptographic-asset',
        name: `AES-${part}-${index}`,
        cryptoProperties: { assetType: 'algorithm' },
      },
    }));
  const pushes = Array.from({ length: 20 }, (_, part) =>
    service.call('POST', '/api/ingest', {
      key: apiKey,
      body: { source: `part ${part}`, complete: true, assets: assets(part) },
    }),
  );
  const [first] = await Promise.all([reconcile(), ...pushes]);
  expect(first.code).toBe(1);
  await until(
    'all sources are counted',
    30,
    async () => (await stage.sql('SELECT 1 FROM inventory_recount')).length === 0,
  );
  expect((await reconcile()).said).toContain('All counts are correct.');
});

describe('data read by an older reader', () => {
  const readingsOf = () =>
    stage.sql<{ id: string; name: string }>(
      `SELECT id, name, verdict_id, resolved_by::text, content FROM asset ORDER BY id`,
    );
  const isReadAgain = async () =>
    (
      await stage.sql(
        'SELECT 1 FROM inventory_source WHERE reading IS NULL OR read_merge IS DISTINCT FROM merged_at OR read_after IS NOT NULL',
      )
    ).length === 0;
  /** Copies alert events, which are deleted as soon as they are processed. */
  const keepWhatIsTold = () =>
    stage.sql(
      `CREATE TABLE told (facts jsonb);
       CREATE FUNCTION tell() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO told VALUES (NEW.facts); RETURN NULL; END $$;
       CREATE TRIGGER tell AFTER INSERT ON happening FOR EACH ROW WHEN (NEW.type LIKE 'asset.%') EXECUTE FUNCTION tell()`,
    );
  const document = (source: string) => ({
    ...bom([
      algorithm({ name: 'AES-256-GCM' }),
      algorithm({ name: 'PaymentCipher' }),
      material(`key of ${source}`, { type: 'secret-key', id: source, algorithmRef: 'AES-256-GCM' }),
    ]),
    ...about(source),
  });

  it('is read again, wherever its documents are, with all counts, and reported where the risk differs', async () => {
    for (const source of ['first', 'second'])
      expect((await service.call('POST', '/api/ingest', { key: apiKey, body: document(source) })).status).toBe(200);
    const [readings, counts] = [await readingsOf(), await tally()];
    const [unread] = await stage.sql<{ id: string }>(`SELECT verdict_id AS id FROM asset WHERE name = 'PaymentCipher'`);
    // Simulates the state left by the previous version, which did not recognize AES.
    await stage.sql(
      `UPDATE asset SET verdict_id = $1, content = gen_random_uuid() WHERE name IN ('AES-256-GCM', 'key of first')`,
      [unread?.id],
    );
    await reconcile();
    await keepWhatIsTold();
    const [begin] = await stage.sql<{ now: string }>('SELECT now()::text AS now');
    // Simulates one source that was stored by a version that records no edition, and another source whose document was merged by that version.
    await stage.sql(`UPDATE inventory_source SET reading = NULL, read_merge = NULL WHERE name = 'first'`);
    await stage.sql(`UPDATE inventory_source SET merged_at = now() WHERE name = 'second'`);
    await until('all is read again', 30, isReadAgain);
    expect(await readingsOf()).toEqual(readings);
    expect(await tally()).toEqual(counts);
    const changed = await stage.sql<{ name: string }>(
      'SELECT name FROM asset WHERE changed_at > $1::timestamptz ORDER BY name',
      [begin?.now],
    );
    expect(changed.map(({ name }) => name)).toEqual(['AES-256-GCM', 'key of first']);
    // Both sources have reported the asset. The source that is read first reports the change.
    const told = await stage.sql<{ facts: { level0: number; why: string } }>('SELECT facts FROM told');
    expect(told.reduce((sum, { facts }) => sum + facts.level0, 0)).toBe(2);
    expect(told.map(({ facts }) => facts.why)).toEqual(told.map(() => expect.stringContaining('new version')));
  });
});

it('a verdict that does not match the rules is detected and reclassified', async () => {
  const families = () => stage.sql<{ id: string }>('SELECT id, verdict, family FROM risk_verdict ORDER BY id');
  const right = await families();
  await stage.sql(
    `UPDATE risk_verdict SET verdict = jsonb_set(verdict::jsonb, '{family}', '"made up"'), family = 'made up' WHERE id = $1`,
    [right[0]?.id],
  );
  expect(await families()).not.toEqual(right);
  await stage.sql(`UPDATE job_lease SET last_success_at = NULL WHERE name = 'reconcile-verdicts'`);
  await until('the verdict is right again', 30, async () => JSON.stringify(await families()) === JSON.stringify(right));
  await until('the log says so', 10, () => Promise.resolve(service.log().includes('verdicts of')));
  await reconcile();
  expect((await reconcile()).said).toContain('All counts are correct.');
});
