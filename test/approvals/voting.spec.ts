import { createHash, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import { digestOf, read, sign, until, verifies } from '../support/signing.js';
import { approval, held, newApprover, newGuardedKey, newTeam, openApprovalFixture, unique, vote } from './approvers.js';

const place = await openApprovalFixture();
afterAll(() => place.stage.close());
// Olga does not belong to any group.
const { ada, ben, cleo, olga } = await newTeam(place, 'ada', 'ben', 'cleo', 'olga');

const order = (key: string, extra: object = {}) => ({ digest: digestOf(randomUUID()), key, ...extra });

describe('a request under a policy', () => {
  it('waits for approval, even if its caller waits, and is then signed', async () => {
    const { key } = await newGuardedKey(place, [{ members: [ada, ben, cleo], threshold: 2 }]);
    const message = randomUUID();
    const answer = await sign(place.service, { key: place.apiKey, body: { digest: digestOf(message), key: key.name } });
    expect(answer.status).toBe(202);
    const { requestId, approvalId, status } = answer.body;
    expect(status).toBe('PENDING_APPROVAL');
    expect(answer.headers.get('location')).toBe(`/api/v1/sign/requests/${requestId}`);
    expect((await vote(place.service, approvalId, ada)).body.status).toBe('PENDING');
    expect((await read(place.service, place.apiKey, requestId, 0)).body.status).toBe('PENDING_APPROVAL');
    const last = await vote(place.service, approvalId, ben, { body: { comment: 'looks good' } });
    expect(last.status).toBe(200);
    expect(last.body).toMatchObject({ status: 'APPROVED', stages: [{ threshold: 2, approvals: 2 }] });
    expect(last.body.votes.map((one: { by: { id: string } }) => one.by.id)).toEqual([ada.id, ben.id]);
    const { body } = await read(place.service, place.apiKey, requestId);
    expect(body).toMatchObject({ status: 'SIGNED', approvalId });
    expect(verifies(message, key, Buffer.from(body.signature, 'base64'))).toBe(true);
  });

  it('shows approvers what the hash covers', async () => {
    const { key } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
    const metadata = { filename: 'app-1.2.0.tar.gz', build: { number: 7, ok: true } };
    const { requestId, approvalId } = await held(place, order(key.name, { metadata, reference: 'build-7' }));
    const { body } = await place.service.call('GET', `/api/v1/approvals/${approvalId}`, { key: ada.accessToken });
    expect(body.title).toBe(`Sign app-1.2.0.tar.gz with the key ${key.name}`);
    expect(body.shown).toMatchObject({
      requestId,
      metadata,
      reference: 'build-7',
      key: { name: key.name, version: 1 },
    });
    // Sorts the object members without the service's code, so that the test verifies the documented canonical form.
    const sorted = (value: unknown): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([name, one]) => [name, sorted(one)]),
          )
        : value;
    const hash = createHash('sha256')
      .update(JSON.stringify(sorted(body.shown)))
      .digest('base64');
    expect(body.hash).toBe(hash);
    const wrong = await vote(place.service, approvalId, ada, { body: { hash: digestOf('something else') } });
    assertProblem(wrong, { status: 409, code: 'approval.other-hash' });
    expect((await vote(place.service, approvalId, ada, { body: { hash } })).status).toBe(200);
  });

  it('requests its stages in order', async () => {
    const stages = [
      { members: [ada], threshold: 1 },
      { members: [ben, cleo], threshold: 2 },
    ];
    const { key } = await newGuardedKey(place, stages);
    const { requestId, approvalId } = await held(place, order(key.name));
    assertProblem(await vote(place.service, approvalId, ben), { status: 403, code: 'approval.not-approver' });
    expect((await vote(place.service, approvalId, ada)).body).toMatchObject({ status: 'PENDING', stage: 1 });
    expect((await vote(place.service, approvalId, ben)).body.status).toBe('PENDING');
    expect((await vote(place.service, approvalId, cleo)).body.status).toBe('APPROVED');
    expect((await read(place.service, place.apiKey, requestId)).body.status).toBe('SIGNED');
  });

  it('accepts only votes from people who signed in within the last five minutes', async () => {
    const dora = await newApprover(place);
    const { key } = await newGuardedKey(place, [{ members: [dora], threshold: 1 }]);
    const { requestId, approvalId } = await held(place, order(key.name));
    await place.stage.change(
      `UPDATE auth_session SET authenticated_at = now() - interval '6 minutes' WHERE user_id = $1`,
      [dora.id],
    );
    // The service caches sessions for a few seconds.
    const refused = await until('the age of the session to be known', 10, async () => {
      const answer = await vote(place.service, approvalId, dora, { body: { hash: digestOf('not shown') } });
      return answer.status === 403 ? answer : undefined;
    });
    assertProblem(refused, { status: 403, code: 'auth.step-up' });
    const no = await vote(place.service, approvalId, dora, { decision: 'reject' });
    assertProblem(no, { status: 403, code: 'auth.step-up' });
    const { password, accessToken } = dora;
    const shown = await place.service.call('POST', '/api/auth/step-up', { key: accessToken, body: { password } });
    expect(shown.status).toBe(204);
    expect((await vote(place.service, approvalId, dora)).body.status).toBe('APPROVED');
    expect((await read(place.service, place.apiKey, requestId)).body.status).toBe('SIGNED');
  });

  it('is FAILED when rejected, with the approver and the reason', async () => {
    const { key } = await newGuardedKey(place, [{ members: [ada, ben, cleo], threshold: 2 }], { rejectThreshold: 2 });
    const { requestId, approvalId } = await held(place, order(key.name));
    expect((await vote(place.service, approvalId, ada, { decision: 'reject' })).body.status).toBe('PENDING');
    const last = await vote(place.service, approvalId, ben, {
      decision: 'reject',
      body: { comment: 'Not from the release branch' },
    });
    expect(last.body.status).toBe('REJECTED');
    const { body } = await read(place.service, place.apiKey, requestId, 0);
    const detail = `Rejected by ${ben.email}: Not from the release branch`;
    expect(body).toMatchObject({ status: 'FAILED', failure: { code: 'approval.rejected', detail } });
    assertProblem(await vote(place.service, approvalId, cleo), { status: 409, code: 'approval.decided' });
  });

  it('is FAILED when withdrawn by its requester or by somebody who sees all approvals, and by nobody else', async () => {
    const { key } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
    const pipeline = await newApiKey(place.service, place.apiKey, ['sign:digest', 'sign:read']);
    const { requestId, approvalId } = await held(place, order(key.name), pipeline.key);
    const withdraw = (by: string) =>
      place.service.call('POST', `/api/v1/approvals/${approvalId}/withdraw`, { key: by });
    assertProblem(await withdraw(ada.accessToken), { status: 404, code: 'approval.missing' });
    const other = await newApiKey(place.service, place.apiKey, ['sign:digest', 'approvals:write']);
    assertProblem(await withdraw(other.key), { status: 404, code: 'approval.missing' });
    expect((await withdraw(pipeline.key)).body.status).toBe('WITHDRAWN');
    const { body } = await read(place.service, pipeline.key, requestId, 0);
    expect(body).toMatchObject({ status: 'FAILED', failure: { code: 'approval.withdrawn' } });
    assertProblem(await withdraw(pipeline.key), { status: 409, code: 'approval.decided' });
    assertProblem(await vote(place.service, approvalId, ada), { status: 409, code: 'approval.decided' });
  });

  it('is FAILED when nobody decides in time', async () => {
    const { key } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }], { expiresInSeconds: 1 });
    const { requestId, approvalId } = await held(place, order(key.name));
    const { body } = await read(place.service, place.apiKey, requestId, 10);
    expect(body).toMatchObject({ status: 'FAILED', failure: { code: 'approval.expired' } });
    assertProblem(await vote(place.service, approvalId, ada), { status: 409, code: 'approval.expired' });
    expect((await approval(place, approvalId)).body.status).toBe('EXPIRED');
  });
});

describe('a request whose key becomes unusable', () => {
  const stops = {
    'signing-key.disabled': ['POST', '/disable', {}],
    'signing-key.pending-destruction': ['POST', '/destruction', { days: 7 }],
    'signing-key.expired': ['PATCH', '', { notAfter: '2026-01-01T00:00:00Z' }],
  } as const;

  it.each(Object.entries(stops))(
    'fails with %s, and approvers are no longer asked',
    async (code, [method, what, body]) => {
      const { key } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
      const { requestId, approvalId } = await held(place, order(key.name));
      const waiting = read(place.service, place.apiKey, requestId, 20);
      const path = `/api/v1/signing-keys/${key.id}${what}`;
      const { headers: known } = await place.service.call('GET', `/api/v1/signing-keys/${key.id}`, {
        key: place.apiKey,
      });
      const headers: Record<string, string> = method === 'PATCH' ? { 'if-match': known.get('etag') ?? '' } : {};
      const stopped = await place.service.call(method, path, { key: place.apiKey, body, headers });
      expect(stopped.status).toBeLessThan(300);
      expect((await waiting).body).toMatchObject({ status: 'FAILED', failure: { code } });
      expect((await approval(place, approvalId)).body.status).toBe('WITHDRAWN');
      assertProblem(await vote(place.service, approvalId, ada), { status: 409, code: 'approval.decided' });
      const asked = await place.service.call('GET', '/api/v1/approvals?waiting=me', { key: ada.accessToken });
      expect(asked.body.items.map(({ id }: { id: string }) => id)).not.toContain(approvalId);
    },
  );

  it('fails with other requests for its key, while a joint approval continues for its other keys', async () => {
    const team = [{ members: [ada, ben], threshold: 1 }];
    const [classical, postQuantum] = [
      await newGuardedKey(place, team),
      await newGuardedKey(place, team, {}, 'ml-dsa-65'),
    ];
    const body = { digest: digestOf(randomUUID()), key: classical.key.name, postQuantumKey: postQuantum.key.name };
    const asked = await place.service.call('POST', '/api/v1/sign/dual', { key: place.apiKey, body });
    const { batchId, items } = asked.body as { batchId: string; items: { approvalId: string }[] };
    expect(new Set(items.map(({ approvalId }) => approvalId)).size).toBe(1);
    const disabled = `/api/v1/signing-keys/${postQuantum.key.id}/disable`;
    await place.service.call('POST', disabled, { key: place.apiKey });
    const batch = async () =>
      (await place.service.call('GET', `/api/v1/sign/batches/${batchId}`, { key: place.apiKey })).body;
    const codes = await until('the end of one request', 10, async () => {
      const found = (await batch()).items.map(({ failure }: { failure?: { code: string } }) => failure?.code);
      return found.some(Boolean) && found;
    });
    expect(codes.filter(Boolean)).toEqual(['signing-key.disabled']);
    const approvalId = items[0]?.approvalId ?? '';
    await vote(place.service, approvalId, ada);
    expect((await vote(place.service, approvalId, ben)).body.status).toBe('APPROVED');
    const signed = await until('the signature by the other key', 30, async () => {
      const { status, items: ended } = await batch();
      return status === 'DONE' && ended;
    });
    expect(signed.map(({ status }: { status: string }) => status).toSorted()).toEqual(['FAILED', 'SIGNED']);
  });
});

it('each person is shown exactly the approvals that wait for them', async () => {
  const dora = await newApprover(place);
  const { key } = await newGuardedKey(place, [{ members: [dora, ada], threshold: 2 }], { name: unique('waiting') });
  const asked = [await held(place, order(key.name)), await held(place, order(key.name))];
  const list = async (query: string, by = dora.accessToken) =>
    (await place.service.call('GET', `/api/v1/approvals?${query}`, { key: by })).body.items.map(
      ({ id }: { id: string }) => id,
    );
  const ids = asked.map(({ approvalId }) => approvalId).reverse();
  expect(await list('waiting=me')).toEqual(ids);
  await vote(place.service, ids[0] as string, dora);
  expect(await list('waiting=me')).toEqual(ids.slice(1));
  expect(await list('status=PENDING')).toEqual(ids);
  expect(await list('status=APPROVED')).toEqual([]);
  expect(await list('waiting=me', olga.accessToken)).toEqual([]);
  expect(await list('', olga.accessToken)).toEqual([]);
  const wrong = await place.service.call('GET', '/api/v1/approvals?status=SIGNED', { key: dora.accessToken });
  assertProblem(wrong, { status: 400, code: 'request.invalid' });
});

it('every vote and every transition is recorded in the audit log', async () => {
  const { key } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
  const { requestId, approvalId } = await held(place, order(key.name));
  await vote(place.service, approvalId, ada, { body: { comment: 'fine' } });
  await until('the signature', 30, async () => (await read(place.service, place.apiKey, requestId)).body.signature);
  const actions = async (id: string) =>
    (
      await place.stage.sql<{ action: string }>(`SELECT action FROM audit_entry WHERE target_id = $1 ORDER BY at, id`, [
        id,
      ])
    ).map(({ action }) => action);
  expect(await actions(approvalId)).toEqual(['approval.requested', 'approval.approved', 'approval.decided']);
  expect(await actions(requestId)).toEqual([
    'signing.accepted',
    'signing.approved',
    'signing.claimed',
    'signing.signed',
  ]);
});

describe('a vote that waits for a lock', () => {
  it('is evaluated with the rights at the time when it is counted', async () => {
    const former = await newApprover(place);
    const { key } = await newGuardedKey(place, [{ members: [former, ada], threshold: 1 }]);
    const { approvalId } = await held(place, order(key.name));
    const session = new Client(place.stage.databaseUrl);
    await session.connect();
    await session.query('BEGIN');
    await session.query('SELECT 1 FROM approval WHERE id = $1 FOR UPDATE', [approvalId]);
    const began = Date.now();
    const voting = vote(place.service, approvalId, former);
    await until('the vote waits', 10, async () => {
      const rows = await place.stage.sql(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"Approval"%'`,
      );
      return rows.length > 0;
    });
    const path = `/api/settings/users/${former.id}`;
    const change = { key: place.apiKey, body: { roles: ['viewer'] } };
    expect((await place.service.call('PATCH', path, change)).status).toBe(200);
    // Waits until the cached rights have expired.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + 2500 - Date.now())));
    await session.query('ROLLBACK');
    await session.end();
    assertProblem(await voting, { status: 403, code: 'approval.rights-ended' });
    expect((await vote(place.service, approvalId, ada)).status).toBe(200);
  });
});
