import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { digestOf, publishedKey, until } from '../support/signing.js';
import { openStage, query, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let other: { id: string };
let signingKey: { id: string };

beforeAll(async () => {
  stage = await openStage({ ownPostgres: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  other = await newApiKey(service, apiKey, ['audit:read']);
  signingKey = await publishedKey(service, apiKey, 'demo-rsa');
});
afterAll(() => stage.close());

const asAdministrator = <Row extends object>(text: string, values: unknown[] = []) =>
  query<Row>(stage.postgres?.adminUrl ?? '', text, values);

/** Makes commits wait for a standby that does not exist. PostgreSQL reloads its settings asynchronously. */
async function haveCommitsWait(): Promise<void> {
  await asAdministrator(`ALTER SYSTEM SET synchronous_standby_names = 'elsewhere'`);
  await asAdministrator('SELECT pg_reload_conf()');
  const waiting = `FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%probe%'`;
  await until('a commit waits', 20, async () => {
    void asAdministrator(`SELECT pg_logical_emit_message(true, 'probe', '')`).catch(() => undefined);
    await sleep(100);
    return (await asAdministrator(`SELECT pg_cancel_backend(pid) ${waiting}`)).length > 0;
  });
}

async function haveCommitsReturn(): Promise<void> {
  await asAdministrator('ALTER SYSTEM RESET synchronous_standby_names');
  await asAdministrator('SELECT pg_reload_conf()');
}

/** Simulates a leader that is shutting down: the commit remains on this machine only, and the caller gets no confirmation. */
async function commitHereAlone({ call, made }: Case): Promise<void> {
  const answer = call();
  const isAnswered = () => Promise.race([answer.then(() => true), sleep(50, false)]);
  await until('the commit is given up', 10, async () => {
    await asAdministrator(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
    return isAnswered();
  });
  expect((await answer).status).toBe(503);
  expect(await stage.sql(made())).toHaveLength(1);
}

/** Reports whether a commit that began after this time is waiting. Ignores the service's heartbeat, which always waits. */
async function isWaiting(since: string): Promise<boolean> {
  const rows = await asAdministrator(
    `SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query_start > $1::timestamptz
       AND (query = 'COMMIT' OR query LIKE '%pg_logical_emit_message%')`,
    [since],
  );
  return rows.length > 0;
}

/** Repeats the call until the commit that it triggers waits. Retries on a 503 for a dropped connection, and fails if a call succeeds. */
async function waitingCall({ call }: Case): Promise<{ readonly answer: Promise<Answer> }> {
  for (let attempt = 1; attempt <= 20; attempt += 1) {
    const [{ at } = { at: '' }] = await asAdministrator<{ at: string }>('SELECT clock_timestamp()::text AS at');
    const answer = call();
    const waits = until('its commit waits', 5, () => isWaiting(at)).then(
      () => 'waits',
      () => 'nothing',
    );
    const first = await Promise.race([answer.then(({ status }) => status), waits]);
    if (first === 'waits') return { answer };
    expect(first).toBe(503);
  }
  throw new Error('no call waited for the standby');
}

interface Case {
  readonly call: () => Promise<Answer>;
  /** SQL query that selects the row created by the call. */
  readonly made: () => string;
}

describe('a change committed on one machine only is not acknowledged to a caller that retries', () => {
  const key = randomUUID();
  const component = { type: 'cryptographic-asset', name: 'AES-128', cryptoProperties: { assetType: 'algorithm' } };
  const scan = {
    source: 'sensor:cut-off',
    complete: true,
    assets: [{ component, occurrence: { location: 'a:/etc' } }],
  };
  const post = (path: string, body: object, idempotencyKey: string) =>
    service.call('POST', path, { key: apiKey, headers: { 'idempotency-key': idempotencyKey }, body });

  const cases: Record<string, Case> = {
    'a scan, under another Idempotency-Key': {
      call: () => post('/api/ingest', { scanId: randomUUID(), ...scan }, randomUUID()),
      made: () => 'SELECT 1 FROM inventory_document',
    },
    'a signature, under the same Idempotency-Key': {
      call: () => post('/api/v1/sign/digest', { key: 'default', digest: digestOf('once'), async: true }, key),
      made: () => 'SELECT 1 FROM signing_request',
    },
    'a signing key that is disabled': {
      call: () => service.call('POST', `/api/v1/signing-keys/${signingKey.id}/disable`, { key: apiKey }),
      made: () => `SELECT 1 FROM signing_key WHERE id = '${signingKey.id}' AND state = 'DISABLED'`,
    },
    'an API key that is revoked': {
      call: () => service.call('DELETE', `/api/settings/api-keys/${other.id}`, { key: apiKey }),
      made: () => `SELECT 1 FROM api_key WHERE id = '${other.id}' AND revoked_at IS NOT NULL`,
    },
  };

  it.each(Object.entries(cases))('%s', async (_what, each) => {
    await haveCommitsWait();
    await commitHereAlone(each);
    const { answer } = await waitingCall(each);
    await haveCommitsReturn();
    expect([200, 202, 204]).toContain((await answer).status);
    expect(await stage.sql(each.made())).toHaveLength(1);
  });
});

it('an unchanged scan writes nothing once its document is an hour old', async () => {
  const push = () =>
    service.call('POST', '/api/ingest', {
      key: apiKey,
      body: { source: 'sensor:old', complete: true, assets: [] },
    });
  const { body } = await push();
  await stage.sql(`UPDATE inventory_document SET received_at = now() - interval '2 hours' WHERE id = $1`, [
    body.documentId,
  ]);
  await push();
  await haveCommitsWait();
  expect((await push()).status).toBe(200);
  await haveCommitsReturn();
});
