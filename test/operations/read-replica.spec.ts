import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { join } from 'node:path';
import { type PrivatePostgres, startPostgres } from '../../scripts/lib/postgres.mjs';
import { algorithm } from '../inventory/documents.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, query, type Stage } from '../support/stage.js';
import { startStandby } from '../support/standby.js';

const MAX_AGE_SECONDS = 6;

let stage: Stage;
let standby: PrivatePostgres;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage({ ownPostgres: true });
  ({ apiKey } = await stage.seed());
  const primary = stage.postgres as PrivatePostgres;
  standby = await startStandby(primary, join(primary.directory, '../standby'));
  const settings = { SVC_DATABASE_READ_URL: standby.url, SVC_DATABASE_READ_MAX_AGE_SECONDS: String(MAX_AGE_SECONDS) };
  service = await stage.start({ settings });
  await ingest('RSA-2048');
  await until('the standby has it', 30, async () => {
    const answer = await get('/api/assets');
    return ageOf(answer) !== null && namesIn(answer).length === 1;
  });
});
afterAll(async () => {
  await standby?.kill('immediate');
  await stage.close();
});

async function ingest(...names: string[]): Promise<void> {
  const body = { source: 'reads', complete: true, assets: names.map((name) => ({ component: algorithm({ name }) })) };
  const { status } = await service.call('POST', '/api/ingest', { key: apiKey, body });
  expect(status).toBe(200);
}

const get = (path: string, cacheControl?: string): Promise<Answer> =>
  service.call('GET', path, {
    key: apiKey,
    headers: cacheControl === undefined ? {} : { 'cache-control': cacheControl },
  });
const ageOf = ({ headers }: Answer) => headers.get('age');
const namesIn = ({ body }: Answer) => body.items.map(({ name }: { name: string }) => name);
const fromStandby = () =>
  until('lists are read from the standby', 30, async () => ageOf(await get('/api/assets')) !== null);
const fromPrimary = () => until('and from the primary', 30, async () => ageOf(await get('/api/assets')) === null);
const reads = async () => (await get('/actuator/health')).body.components.reads;
const replay = (verb: 'pause' | 'resume') => query(standby.adminUrl, `SELECT pg_wal_replay_${verb}()`);

describe('with a read standby', () => {
  it.each(['/api/assets', '/api/analytics/summary', '/api/export/csv', '/api/export/cyclonedx'])(
    '%s returns the maximum age of the response in seconds',
    async (path) => {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(ageOf(answer)).toMatch(/^[1-6]$|^0$/);
    },
  );

  it('everything else is read from the primary', async () => {
    const { body } = await get('/api/assets');
    for (const path of [`/api/assets/${body.items[0].id}`, '/api/v1/audit/entries', '/api/v1/signing-keys'])
      expect(ageOf(await get(path))).toBeNull();
  });

  it('a lagging standby serves reads within the allowed age, then the primary does; fresh data is available immediately', async () => {
    await fromStandby();
    await replay('pause');
    await ingest('RSA-2048', 'ML-DSA-65');
    const older = await get('/api/assets');
    expect(namesIn(older)).toEqual(['RSA-2048']);
    expect(Number(ageOf(older))).toBeLessThanOrEqual(MAX_AGE_SECONDS);
    for (const fresh of ['no-cache', 'max-age=0']) {
      const newer = await get('/api/assets', fresh);
      expect([namesIn(newer).toSorted(), ageOf(newer)]).toEqual([['ML-DSA-65', 'RSA-2048'], null]);
    }
    await fromPrimary();
    expect(namesIn(await get('/api/assets'))).toHaveLength(2);
    await until('health says so', 10, async () => (await reads()).status === 'DOWN');
    expect((await reads()).details.detail).toMatch(
      /^the standby is \d+ s behind, more than the allowed 6 s; everything is read from the primary$/,
    );
    await replay('resume');
    await fromStandby();
    expect(namesIn(await get('/api/assets'))).toHaveLength(2);
    expect((await reads()).status).toBe('UP');
  });

  it('an unavailable standby fails no call, and is used again once it is back', async () => {
    await fromStandby();
    const answers = new Set<string>();
    const calls = (async () => {
      for (let at = 0; at < 60; at += 1)
        for (const path of ['/api/assets', '/api/analytics/summary', '/api/export/csv']) {
          const { status, body } = await get(path);
          answers.add(status === 200 ? '200' : `${path} ${status} ${JSON.stringify(body)}`);
        }
    })();
    await standby.kill('immediate');
    await calls;
    await fromPrimary();
    expect([...answers]).toEqual(['200']);
    expect((await reads()).status).toBe('DOWN');
    standby = await startPostgres({ dir: standby.directory, port: standby.port });
    await fromStandby();
  });

  it('responses have no age once it is not configured', async () => {
    const alone = await stage.start();
    const answer = await alone.call('GET', '/api/assets', { key: apiKey });
    expect(ageOf(answer)).toBeNull();
    expect((await alone.call('GET', '/actuator/health', { key: apiKey })).body.components).not.toHaveProperty('reads');
  });
});
