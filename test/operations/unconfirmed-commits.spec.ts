import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Service } from '../support/service.js';
import { digestOf, until } from '../support/signing.js';
import { openStage, query, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage({ ownPostgres: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const asAdministrator = (text: string) => query<{ cancelled: boolean }>(stage.postgres?.adminUrl ?? '', text);

/** From now on a commit waits for a standby, which is not there; or for none. */
async function commitsWait(demanded: boolean): Promise<void> {
  await asAdministrator(`ALTER SYSTEM SET synchronous_standby_names = '${demanded ? 'elsewhere' : ''}'`);
  await asAdministrator('SELECT pg_reload_conf()');
}

/** What PostgreSQL does when a leader is to stop: the commit that waits stays, on this machine alone, and its caller is not told that it is safe. */
async function committedHereAlone(call: () => Promise<Answer>): Promise<void> {
  const answer = call();
  const isAnswered = () => Promise.race([answer.then(() => true), sleep(50, false)]);
  await until('the commit is given up', 30, async () => {
    await asAdministrator(
      `SELECT pg_cancel_backend(pid) AS cancelled FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
    );
    return isAnswered();
  });
  expect((await answer).status).toBe(503);
}

/** The repeated call, once it waits. A connection that was cut is no answer; that all is well would be a wrong one. */
async function waitingCall(call: () => Promise<Answer>): Promise<Promise<Answer>[]> {
  for (let attempt = 1; attempt <= 20; attempt += 1) {
    const answer = call();
    const status = await Promise.race([answer.then((known) => known.status), sleep(1500, 'waits')]);
    if (status === 'waits') return [answer];
    expect(status).toBe(503);
  }
  throw new Error('no call waited for the standby');
}

describe('what is committed on one machine alone is not acknowledged to who repeats the call', () => {
  const digest = digestOf('signed once');
  const scan = {
    source: 'sensor:cut-off',
    complete: true,
    assets: [
      {
        component: { type: 'cryptographic-asset', name: 'AES-128-GCM', cryptoProperties: { assetType: 'algorithm' } },
        occurrence: { location: 'host-a:/etc' },
      },
    ],
  };
  const key = randomUUID();
  const calls = {
    'a scan, under another Idempotency-Key': () =>
      service.call('POST', '/api/ingest', {
        key: apiKey,
        headers: { 'idempotency-key': randomUUID() },
        body: { scanId: randomUUID(), ...scan },
      }),
    'a signature, under the same Idempotency-Key': () =>
      service.call('POST', '/api/v1/sign/digest', {
        key: apiKey,
        headers: { 'idempotency-key': key },
        body: { key: 'default', digest, async: true },
      }),
  };

  it.each(Object.entries(calls))('%s', async (_what, call) => {
    await commitsWait(true);
    await committedHereAlone(call);
    const [waiting] = await waitingCall(call);
    await commitsWait(false);
    const { status, body } = (await waiting) ?? { status: 0, body: undefined };
    expect([status, body.documentId ?? body.requestId]).toEqual([expect.toBeOneOf([200, 202]), expect.any(String)]);
  });

  it('and nothing was made twice', async () => {
    const [made] = await stage.sql(
      `SELECT (SELECT count(*)::int FROM inventory_document) AS documents, (SELECT count(*)::int FROM signing_request) AS requests`,
    );
    expect(made).toEqual({ documents: 1, requests: 1 });
  });
});
