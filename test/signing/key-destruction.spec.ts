import { type Approver, newApprover } from '../approvals/approvers.js';
import { type Client, makeClient, postForm } from '../auth/oauth-calls.js';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseOwner } from '../audit/database-owner.js';
import { newApiKey } from '../support/access.js';
import { Authority } from '../support/authority.js';
import { certifiedKey } from '../support/certified-keys.js';
import { isRunning, keyProcessesOf } from '../support/processes.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, read, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const DAY_MS = 24 * 3600 * 1000;
/** Options of a worker with a short HSM deadline, which shortens the lease. */
const WORKER = { role: 'worker', settings: { SVC_PKCS11_DEADLINE_MS: '2000' } } as const;

let stage: Stage;
let service: Service;
let apiKey: string;
let authority: Authority;
/** Workers for the second half of the tests. */
let workers: Service[] = [];

beforeAll(async () => {
  stage = await openStage({ shim: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  authority = new Authority();
});
afterAll(async () => {
  authority.remove();
  await stage.close();
});

const call = (method: string, { id }: { id: string }, what = '', body?: object, key = apiKey): Promise<Answer> =>
  service.call(method, `/api/v1/signing-keys/${id}${what}`, { key, body });
const plan = (key: PublishedKey, days = 7) => call('POST', key, '/destruction', { days });
const signed = (key: PublishedKey, body: object = {}) =>
  sign(service, { key: apiKey, body: { digest: digestOf('content'), key: key.name, ...body } });
/** Returns a unique name, because a retried test must not find a key of its first attempt. */
const fresh = (name: string): string => `${name}-${randomUUID()}`;
const stateOf = async (key: PublishedKey): Promise<string> => (await call('GET', key)).body.state;
/** Makes the destruction due now instead of in a week. A lease prevents workers from claiming the row until it has been sealed again. */
const due = async (key: PublishedKey) => {
  const change = (set: string) => `UPDATE signing_key_destruction SET ${set} WHERE key_id = '${key.id}'`;
  await stage.sql(change(`lease_until = now() + interval '1 hour'`));
  await stage.change(change(`destroy_at = now() - interval '1 second'`));
  await stage.sql(change('lease_until = NULL'));
};

const clients: Client[] = [];
/** Returns a token for another person's client whose secret this person has seen. */
async function clientTokenFor({ accessToken: key }: Approver): Promise<string> {
  const client = await makeClient(service, apiKey, ['admin:*']);
  clients.push(client);
  const path = `/api/settings/oauth-clients/${client.client_id}/secret`;
  const { client_id, client_secret } = (await service.call('POST', path, { key })).body;
  const grant = { grant_type: 'client_credentials', client_id, client_secret };
  return (await postForm(service, '/oauth/token', grant)).body.access_token;
}

async function ckaIds({ id }: PublishedKey): Promise<string[]> {
  const rows = await stage.sql<{ cka: string }>(
    `SELECT encode(cka_id, 'hex') AS cka FROM signing_key_version WHERE key_id = $1 ORDER BY version`,
    [id],
  );
  return rows.map(({ cka }) => cka);
}

/** Returns the calls with a key in the shim's journal. */
async function asked(key: PublishedKey, kind: 'ask' | 'destroy'): Promise<{ key: string; result: number }[]> {
  const ids = await ckaIds(key);
  return (stage.shim?.journal() ?? []).filter(
    (entry) => entry.kind === kind && ids.includes(entry.key) && (kind === 'ask' || entry.hex === '03'),
  );
}

async function actionsOn(key: { id: string }): Promise<string[]> {
  const rows = await stage.sql<{ action: string }>(
    `SELECT action FROM audit_entry WHERE target_id = $1 AND action LIKE 'signing-key.%destr%' ORDER BY id`,
    [key.id],
  );
  return rows.map(({ action }) => action.replace('signing-key.', ''));
}

describe('scheduled key destruction', () => {
  let key: PublishedKey;
  let waiting: Answer;

  beforeAll(async () => {
    key = await createKey(service, apiKey, { name: fresh('planned'), type: 'ec-p256' });
    waiting = await signed(key, { async: true });
  });

  it('can be requested by administrators only, with a week to a month of waiting', async () => {
    const { key: writer } = await newApiKey(service, apiKey, ['signing-keys:write', 'sign:digest']);
    const refused = await call('POST', key, '/destruction', { days: 7 }, writer);
    assertProblem(refused, { status: 403, code: 'insufficient_scope' });
    for (const days of [6, 31, 7.5]) assertProblem(await plan(key, days), { status: 400, code: 'request.invalid' });
    const { status, body } = await plan(key);
    expect({ status, state: body.state }).toEqual({ status: 200, state: 'PENDING_DESTRUCTION' });
    expect(Math.abs(Date.parse(body.destroyAt) - Date.now() - 7 * DAY_MS)).toBeLessThan(60_000);
    assertProblem(await plan(key), { status: 409, code: 'signing-key.inactive' });
  });

  it('disables signing: uses are rejected with the reason, audited, and the HSM is not called', async () => {
    const before = (await asked(key, 'ask')).length;
    const answer = await signed(key);
    assertProblem(answer, { status: 409, code: 'signing-key.pending-destruction' });
    const entries = await stage.sql(`SELECT detail ->> 'code' AS code FROM audit_entry WHERE correlation = $1`, [
      answer.body.requestId,
    ]);
    expect(entries).toEqual([{ code: 'signing-key.pending-destruction' }]);
    for (const [what, body] of [
      ['/rotate', {}],
      ['/enable', {}],
      ['/csr', { subject: { commonName: 'x' } }],
    ] as const)
      assertProblem(await call('POST', key, what, body), { status: 409, code: 'signing-key.inactive' });
    const worker = await stage.start(WORKER);
    expect((await read(service, apiKey, waiting.body.requestId)).body).toMatchObject({
      status: 'FAILED',
      failure: { code: 'signing-key.inactive' },
    });
    await sleep(1500);
    expect(await stateOf(key)).toBe('PENDING_DESTRUCTION');
    await worker.kill();
    expect(await asked(key, 'ask')).toHaveLength(before);
    expect(await asked(key, 'destroy')).toEqual([]);
  });

  it('can be canceled: the key is disabled, and signs again once enabled', async () => {
    const { body } = await call('DELETE', key, '/destruction');
    expect(body).toMatchObject({ state: 'DISABLED' });
    expect(body).not.toHaveProperty('destroyAt');
    assertProblem(await call('DELETE', key, '/destruction'), { status: 409, code: 'signing-key.not-pending' });
    assertProblem(await signed(key), { status: 409, code: 'signing-key.disabled' });
    await call('POST', key, '/enable');
    expect((await signed(key)).status).toBe(200);
    expect(await actionsOn(key)).toEqual(['destruction-scheduled', 'destruction-called-off']);
  });

  it('is not executed by rows restored after the cancellation', async () => {
    const kept = await createKey(service, apiKey, { name: fresh('kept'), type: 'ec-p256' });
    await plan(kept);
    await due(kept);
    const tables = { signing_key: 'id', signing_key_destruction: 'key_id' };
    for (const [table, column] of Object.entries(tables))
      await stage.sql(`CREATE TABLE kept_${table} AS SELECT * FROM ${table} WHERE ${column} = '${kept.id}'`);
    expect((await call('DELETE', kept, '/destruction')).status).toBe(200);
    await stage.sql(
      `UPDATE signing_key k SET state = o.state, revision = o.revision, seal = o.seal FROM kept_signing_key o WHERE o.id = k.id`,
    );
    await stage.sql('INSERT INTO signing_key_destruction SELECT * FROM kept_signing_key_destruction');
    const worker = await stage.start(WORKER);
    await until('a look at it', 20, async () => {
      const [row] = await stage.sql<{ seen: boolean }>(
        `SELECT lease_until IS NOT NULL AS seen FROM signing_key_destruction WHERE key_id = $1`,
        [kept.id],
      );
      return row?.seen;
    });
    expect(await asked(kept, 'destroy')).toEqual([]);
    expect(await actionsOn(kept)).toEqual(['destruction-scheduled', 'destruction-called-off']);
    await worker.kill();
    await stage.sql(`DELETE FROM signing_key_destruction WHERE key_id = $1`, [kept.id]);
  });
});

it('a key destruction is executed once although its worker is killed, and existing signatures still verify', async () => {
  const key = await certifiedKey(service, apiKey, authority, { name: fresh('ending'), type: 'ec-p256' });
  const { body: before } = await signed(key);
  expect((await call('POST', key, '/rotate', { activate: 'now' })).body.version).toBe(2);
  await plan(key);
  stage.shim?.fault('stall 60000 1');
  await due(key);
  const doomed = await stage.start(WORKER);
  await until('the first private key is gone', 30, async () => (await asked(key, 'destroy')).length === 1);
  const processes = keyProcessesOf(doomed);
  await doomed.kill('SIGKILL');
  for (const pid of processes.filter(isRunning)) process.kill(pid, 'SIGKILL');
  expect(await stateOf(key)).toBe('DESTROYING');
  assertProblem(await call('DELETE', key, '/destruction'), { status: 409, code: 'signing-key.not-pending' });
  assertProblem(await signed(key), { status: 409, code: 'signing-key.pending-destruction' });

  workers = await Promise.all([stage.start(WORKER), stage.start(WORKER)]);
  await until('the end', 30, async () => (await stateOf(key)) === 'DESTROYED');
  const [first, second] = await ckaIds(key);
  expect((await asked(key, 'destroy')).map(({ key: id, result }) => [id, result])).toEqual([
    [first, 0],
    [second, 0],
  ]);
  expect(await actionsOn(key)).toEqual([
    'destruction-scheduled',
    'destroying',
    'destroying',
    'version-destroyed',
    'version-destroyed',
    'destroyed',
  ]);
  assertProblem(await signed(key), { status: 409, code: 'signing-key.destroyed' });
  const { body: shown } = await call('GET', key);
  expect(shown).toMatchObject({ evidence: { local: true }, destroyedAt: expect.any(String) });
  const { body: versions } = await call('GET', key, '/versions');
  expect(versions.items.map(({ state }: { state: string }) => state)).toEqual(['DESTROYED', 'DESTROYED']);
  expect(versions.items[1]).toMatchObject({ publicKey: key.publicKey, certificateId: expect.any(String) });
  const verify = { digest: digestOf('content'), signature: before.signature, key: key.name };
  expect((await service.call('POST', '/api/v1/verify', { key: apiKey, body: verify })).body.valid).toBe(true);
});

// The tests below run with two workers.
it.each<[string, (leaver: Approver) => Promise<string>]>([
  ['who scheduled it', ({ accessToken }) => Promise.resolve(accessToken)],
  ['who was shown the secret of its client', clientTokenFor],
])('a key destruction is postponed while the person %s may no longer destroy keys', async (_who, tokenFor) => {
  const leaver = await newApprover({ stage, service, apiKey }, ['admin']);
  const key = await createKey(service, apiKey, { name: fresh('left'), type: 'ec-p256' });
  const token = await tokenFor(leaver);
  expect((await call('POST', key, '/destruction', { days: 7 }, token)).status).toBe(200);
  await service.call('PATCH', `/api/settings/users/${leaver.id}`, { key: apiKey, body: { roles: ['operator'] } });
  for (const { client_id: id } of clients.splice(0))
    await service.call('POST', `/api/settings/oauth-clients/${id}/secret`, { key: apiKey });
  await due(key);
  const reason = `${key.name} was not destroyed: `;
  await until('a worker says why', 30, () =>
    Promise.resolve(workers.some((one) => one.log().includes(reason)) ? true : undefined),
  );
  expect(await stateOf(key)).toBe('PENDING_DESTRUCTION');
  expect(await asked(key, 'destroy')).toEqual([]);
});

it('a key destruction is not carried out in the name of a person whose entry was inserted into the database', async () => {
  const place = { stage, service, apiKey };
  const [leaver, admin] = [await newApprover(place, ['admin']), await newApprover(place, ['admin'])];
  const key = await createKey(service, apiKey, { name: fresh('left'), type: 'ec-p256' });
  expect((await call('POST', key, '/destruction', { days: 7 }, leaver.accessToken)).status).toBe(200);
  await service.call('PATCH', `/api/settings/users/${leaver.id}`, { key: apiKey, body: { roles: ['operator'] } });
  const id = randomUUID();
  await stage.sql(
    `INSERT INTO audit_entry (id, at, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail)
     VALUES ($1, now() + interval '1 hour', 'signing-key.destruction-scheduled', 'done', 'user', $2, 'x', 'signing-key', $3, 'x', '', '{}')`,
    [id, admin.id, key.id],
  );
  await due(key);
  const refused = () => workers.some((one) => one.log().includes(`${key.name} was not destroyed: `));
  await until('a decision', 30, async () => refused() || (await stateOf(key)) === 'DESTROYED');
  await new DatabaseOwner(place.stage).unlocked(`DELETE FROM audit_entry WHERE id = '${id}'`);
  expect(await stateOf(key)).toBe('PENDING_DESTRUCTION');
  expect(await asked(key, 'destroy')).toEqual([]);
});

it('destroying an ML-DSA key erases it in the database, which holds it sealed', async () => {
  const key = await createKey(service, apiKey, { name: fresh('sealed'), type: 'ml-dsa-44' });
  await plan(key);
  await due(key);
  await until('the end', 30, async () => (await stateOf(key)) === 'DESTROYED');
  expect(await stage.sql(`SELECT sealed FROM signing_key_version WHERE key_id = $1`, [key.id])).toEqual([
    { sealed: null },
  ]);
  expect((await call('GET', key)).body).toMatchObject({ protection: 'sealed-software' });
});

it('a key destruction never affects another key in the token, not even the log key if a row refers to it', async () => {
  const [log] = await until('a key of the log', 30, async () => {
    const rows = await stage.sql<{ id: string }>(`SELECT id FROM log_key WHERE public_key IS NOT NULL`);
    return rows.length > 0 && rows;
  });
  const unknown = await call('POST', { id: log?.id ?? '' }, '/destruction', {});
  assertProblem(unknown, { status: 404, code: 'signing-key.missing' });

  const key = await createKey(service, apiKey, { name: fresh('forged'), type: 'ec-p256' });
  await plan(key);
  await stage.sql(`UPDATE signing_key_version SET cka_id = (SELECT cka_id FROM log_key) WHERE key_id = $1`, [key.id]);
  await due(key);
  const [refusal] = await until('a refusal', 30, async () => {
    const rows = await stage.sql(
      `SELECT detail ->> 'code' AS code FROM audit_entry WHERE target_id = $1 AND action = 'signing-key.destruction-failed'`,
      [key.id],
    );
    return rows.length > 0 && rows;
  });
  expect(refusal).toEqual({ code: 'hsm.other-key' });
  expect(await asked(key, 'destroy')).toEqual([]);
  expect(await stateOf(key)).toBe('DESTROYING');
  const sizeOf = async () =>
    (await service.call('GET', '/api/v1/audit/log/checkpoint', { key: apiKey })).body as string;
  const size = await sizeOf();
  await signed(await createKey(service, apiKey, { name: fresh('after'), type: 'ec-p256' }));
  await until('another checkpoint, signed with it', 30, async () => (await sizeOf()) !== size);
});

it('a destroyed key signs nothing after its earlier rows were restored', async () => {
  const key = await createKey(service, apiKey, { name: fresh('put-back'), type: 'ml-dsa-44' });
  expect((await signed(key)).status).toBe(200);
  const kept = `kept_${key.id.replaceAll('-', '')}`;
  for (const [table, id] of [
    ['signing_key', 'id'],
    ['signing_key_version', 'key_id'],
  ])
    await stage.sql(`CREATE TABLE ${kept}_${table} AS SELECT * FROM ${table} WHERE ${id} = '${key.id}'`);
  await plan(key);
  await due(key);
  const worker = await stage.start(WORKER);
  await until('the end', 30, async () => (await stateOf(key)) === 'DESTROYED');
  await until('the end in the signed log', 30, async () => {
    const [row] = await stage.sql<{ open: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM log_waiting) OR (SELECT size FROM log_head) <> (SELECT max(size) FROM log_checkpoint) AS open`,
    );
    return row?.open === false;
  });
  await worker.kill();
  await stage.sql(
    `UPDATE signing_key k SET state = o.state, revision = o.revision, seal = o.seal FROM ${kept}_signing_key o WHERE o.id = k.id`,
  );
  await stage.sql(
    `UPDATE signing_key_version v SET sealed = o.sealed, destroyed_at = NULL FROM ${kept}_signing_key_version o WHERE o.key_id = v.key_id`,
  );
  await stage.sql(`DELETE FROM signing_key_destruction WHERE key_id = $1`, [key.id]);
  const restarted = await stage.start({ role: 'api' });
  const body = { digest: digestOf('afterwards'), key: key.name };
  assertProblem(await sign(restarted, { key: apiKey, body }), { status: 409, code: 'signing-key.inactive' });
  await restarted.kill();
});
