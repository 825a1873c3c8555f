import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessToken, newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer } from '../support/service.js';
import { digestOf, read, sign } from '../support/signing.js';
import { approval, held, newApprover, newGuardedKey, newTeam, openApprovalFixture, vote } from './approvers.js';

const place = await openApprovalFixture();
afterAll(() => place.stage.close());
// Olga does not belong to any group.
const { ada, ben, cleo, olga } = await newTeam(place, 'ada', 'ben', 'cleo', 'olga');

const order = (key: string) => ({ digest: digestOf(randomUUID()), key });

describe('an eligible voter', () => {
  let guarded: Awaited<ReturnType<typeof newGuardedKey>>;
  beforeAll(async () => {
    guarded = await newGuardedKey(place, [{ members: [ada, ben, cleo], threshold: 2 }]);
  });
  const ask = (key?: string) => held(place, order(guarded.key.name), key);

  it('is not an outsider, not even an administrator', async () => {
    const { approvalId } = await ask();
    assertProblem(await vote(place.service, approvalId, olga), { status: 403, code: 'approval.not-approver' });
    const chief = await newApprover(place, ['admin']);
    assertProblem(await vote(place.service, approvalId, chief), { status: 403, code: 'approval.not-approver' });
    const seen = await place.service.call('GET', `/api/v1/approvals/${approvalId}`, { key: olga.accessToken });
    assertProblem(seen, { status: 404, code: 'approval.missing' });
  });

  it('is not an API key, whatever its scopes, and nobody without the scope', async () => {
    const { approvalId } = await ask();
    const asKey = await vote(place.service, approvalId, { accessToken: place.apiKey });
    assertProblem(asKey, { status: 403, code: 'approval.person-needed' });
    const viewer = await newApprover(place, ['viewer']);
    assertProblem(await vote(place.service, approvalId, viewer), { status: 403, code: 'insufficient_scope' });
  });

  it('is not the requester, not even through an API key that they own', async () => {
    const boss = await newApprover(place, ['admin']);
    const { key } = await newGuardedKey(place, [{ members: [boss, ada], threshold: 1 }]);
    const theirs = await newApiKey(place.service, boss.accessToken, ['sign:digest']);
    for (const by of [boss.accessToken, theirs.key]) {
      const { approvalId } = await held(place, order(key.name), by);
      for (const decision of ['approve', 'reject'] as const) {
        const answer = await vote(place.service, approvalId, boss, { decision });
        assertProblem(answer, { status: 403, code: 'approval.own-request' });
      }
      expect((await vote(place.service, approvalId, ada)).body.status).toBe('APPROVED');
    }
  });

  describe('is nobody who has seen a secret of the requester', () => {
    const never = { status: 403, code: 'approval.own-request' };
    const post = (by: string, path: string, body?: object) => place.service.call('POST', path, { key: by, body });

    it('whether of an API key, of a key it created, or of a client', async () => {
      const owner = await newApprover(place, ['admin']);
      const eve = await newApprover(place, ['admin', 'approver']);
      const { key } = await newGuardedKey(place, [{ members: [eve, ada], threshold: 1 }]);
      const made = await newApiKey(place.service, owner.accessToken, ['admin:*']);
      const rotated = await post(eve.accessToken, `/api/settings/api-keys/${made.id}/rotate`, {
        expiry: new Date(Date.now() + 3.6e6),
        overlapHours: 1,
      });
      expect(rotated.status).toBe(201);
      const byKey = await newApiKey(place.service, rotated.body.key, ['sign:digest']);
      const order2 = { name: 'pipeline', permissions: ['sign:digest'] };
      const client = (await post(owner.accessToken, '/api/settings/oauth-clients', order2)).body;
      const secret = await post(eve.accessToken, `/api/settings/oauth-clients/${client.client_id}/secret`);
      const { client_id, client_secret } = secret.body;
      const grant = { grant_type: 'client_credentials', client_id, client_secret };
      const token = (await place.service.call('POST', '/oauth/token', { body: grant })).body.access_token;
      expect(token).toEqual(expect.any(String));
      for (const by of [rotated.body.key, byKey.key, token]) {
        const { approvalId } = await held(place, order(key.name), by);
        assertProblem(await vote(place.service, approvalId, eve), never);
        assertProblem(await vote(place.service, approvalId, eve, { decision: 'reject' }), never);
        const waiting = await place.service.call('GET', '/api/v1/approvals?waiting=me', { key: eve.accessToken });
        expect(waiting.body.items.map(({ id }: { id: string }) => id)).not.toContain(approvalId);
        expect((await vote(place.service, approvalId, ada)).body.status).toBe('APPROVED');
        const [entry] = await place.stage.sql<{ requesters: string[] }>(
          `SELECT detail -> 'requesters' AS requesters FROM audit_entry WHERE action = 'approval.requested' AND target_id = $1`,
          [approvalId],
        );
        expect(entry?.requesters).toEqual(expect.arrayContaining([owner.id, eve.id]));
      }
      // Eve never saw the previous key, so requests made with it count only as the owner's requests.
      const { approvalId } = await held(place, order(key.name), made.key);
      expect((await vote(place.service, approvalId, eve)).body.status).toBe('APPROVED');
    });

    it('even if the vote rows exist, which are not counted', async () => {
      const owner = await newApprover(place, ['admin']);
      const eve = await newApprover(place, ['admin', 'approver']);
      const { key } = await newGuardedKey(place, [{ members: [eve, ada, ben], threshold: 2 }]);
      const made = await newApiKey(place.service, owner.accessToken, ['sign:digest']);
      const rotated = await post(eve.accessToken, `/api/settings/api-keys/${made.id}/rotate`, {
        expiry: new Date(Date.now() + 3.6e6),
      });
      const { approvalId } = await held(place, order(key.name), rotated.body.key);
      await place.stage.sql(
        `INSERT INTO approval_vote (approval_id, user_id, user_name, decision, stage, hash)
         SELECT id, $2, 'eve', 'APPROVE', 0, hash FROM approval WHERE id = $1`,
        [approvalId, eve.id],
      );
      expect((await vote(place.service, approvalId, ada)).body.status).toBe('PENDING');
      expect((await vote(place.service, approvalId, ben)).body.status).toBe('APPROVED');
    });
  });

  it('nobody by rows of votes in the database: they are not shown, and do not keep a person from rejecting', async () => {
    const { approvalId } = await ask();
    await place.stage.sql(
      `INSERT INTO approval_vote (approval_id, user_id, user_name, decision, stage, comment, hash)
       SELECT a.id, m.id, 'forged', 'APPROVE', 0, 'fine', a.hash FROM approval a, unnest($2::uuid[]) AS m(id) WHERE a.id = $1`,
      [approvalId, [ada.id]],
    );
    const path = `/api/v1/approvals/${approvalId}`;
    const shown = (await place.service.call('GET', path, { key: ada.accessToken })).body;
    expect([shown.votes, shown.stages[0].approvals]).toEqual([[], 0]);
    const no = { key: ada.accessToken, body: { comment: 'no' } };
    const rejected = await place.service.call('POST', `${path}/reject`, no);
    expect(rejected).toMatchObject({ status: 200, body: { status: 'REJECTED' } });
    expect(rejected.body.votes).toMatchObject([
      { by: { id: ada.id, name: ada.email }, decision: 'REJECT', comment: 'no' },
    ]);
  });

  it('counts once, through however many sessions', async () => {
    const { requestId, approvalId } = await ask();
    const other = await accessToken(place.service, ada.email, ada.password);
    expect(other).not.toBe(ada.accessToken);
    const both = [ada, { accessToken: other }].map((session) => vote(place.service, approvalId, session));
    const answers = await Promise.all(both);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const [refused] = answers.filter(({ status }) => status !== 200);
    assertProblem(refused as Answer, { status: 409, code: 'approval.voted' });
    expect((await read(place.service, place.apiKey, requestId, 0)).body.status).toBe('PENDING_APPROVAL');
  });

  it('casts the same vote with a repeated Idempotency-Key', async () => {
    const { approvalId } = await ask();
    const headers = { 'idempotency-key': randomUUID() };
    for (let time = 0; time < 2; time += 1) {
      const answer = await vote(place.service, approvalId, ada, { body: {}, headers });
      expect(answer.status).toBe(200);
      expect(answer.body.votes).toHaveLength(1);
    }
    const other = await vote(place.service, approvalId, ada, { body: { comment: 'other' }, headers });
    assertProblem(other, { status: 422, code: 'idempotency.other-body' });
  });

  it('needs a comment if the policy requires one', async () => {
    const { key } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }], { commentRequired: true });
    const { approvalId } = await held(place, order(key.name));
    const answer = await vote(place.service, approvalId, ada);
    assertProblem(answer, { status: 422, code: 'approval.comment-required' });
    const said = await vote(place.service, approvalId, ada, { body: { comment: 'Tests are green.' } });
    expect(said.body.votes).toMatchObject([{ comment: 'Tests are green.' }]);
  });
});

describe('when a group or policy is edited during an approval', () => {
  const edit = (path: string, revision: number, body: object, key = place.apiKey) =>
    place.service.call('PUT', path, { key, body, headers: { 'if-match': `"${revision}"` } });

  it('a removed member does not count, nor do their earlier votes', async () => {
    const { key, groups } = await newGuardedKey(place, [{ members: [ada, ben, cleo], threshold: 2 }]);
    const { requestId, approvalId } = await held(place, order(key.name));
    expect((await vote(place.service, approvalId, ada)).status).toBe(200);
    const group = groups[0]?.body;
    const path = `/api/v1/approver-groups/${group.id}`;
    const without = { name: group.name, members: [ben.id, cleo.id] };
    expect((await edit(path, 1, without)).status).toBe(200);
    const { approvalId: next } = await held(place, order(key.name));
    assertProblem(await vote(place.service, next, ada), { status: 403, code: 'approval.not-approver' });
    expect((await vote(place.service, approvalId, ben)).body.status).toBe('PENDING');
    expect((await vote(place.service, approvalId, cleo)).body.status).toBe('APPROVED');
    expect((await read(place.service, place.apiKey, requestId)).body.status).toBe('SIGNED');
  });

  it('people added by the requester after the request do not count', async () => {
    const boss = await newApprover(place, ['admin']);
    const { key, groups } = await newGuardedKey(place, [{ members: [ada, ben], threshold: 2 }]);
    const { approvalId } = await held(place, order(key.name), boss.accessToken);
    const group = groups[0]?.body;
    const path = `/api/v1/approver-groups/${group.id}`;
    const wider = { name: group.name, members: [ada.id, ben.id, cleo.id] };
    expect((await edit(path, 1, wider, boss.accessToken)).status).toBe(200);
    assertProblem(await vote(place.service, approvalId, cleo), { status: 403, code: 'approval.not-approver' });
    // A member whom the requester removes and adds again counts as added by the requester.
    expect((await edit(path, 2, { ...wider, members: [ben.id, cleo.id] }, boss.accessToken)).status).toBe(200);
    expect((await edit(path, 3, wider, boss.accessToken)).status).toBe(200);
    assertProblem(await vote(place.service, approvalId, ada), { status: 403, code: 'approval.not-approver' });
    // In approvals of other people's requests, the added members count as ordinary members.
    const other = await held(place, order(key.name));
    expect((await vote(place.service, other.approvalId, cleo)).status).toBe(200);
  });

  it('people added with a shared key do not count, whether by its owner or by somebody who has seen it', async () => {
    const owner = await newApprover(place, ['admin']);
    const eve = await newApprover(place, ['admin', 'approver']);
    const made = await newApiKey(place.service, owner.accessToken, ['admin:*']);
    const expiry = new Date(Date.now() + 3.6e6);
    const path = `/api/settings/api-keys/${made.id}/rotate`;
    const shared = (await place.service.call('POST', path, { key: eve.accessToken, body: { expiry } })).body.key;
    for (const requester of [owner, eve]) {
      const { key, groups } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
      const { approvalId } = await held(place, order(key.name), requester.accessToken);
      const group = groups[0]?.body;
      const wider = { name: group.name, members: [ada.id, cleo.id] };
      expect((await edit(`/api/v1/approver-groups/${group.id}`, 1, wider, shared)).status).toBe(200);
      assertProblem(await vote(place.service, approvalId, cleo), { status: 403, code: 'approval.not-approver' });
      const waiting = await place.service.call('GET', '/api/v1/approvals?waiting=me', { key: cleo.accessToken });
      expect(waiting.body.items.map(({ id }: { id: string }) => id)).not.toContain(approvalId);
    }
  });

  it('the number of votes required at the time of the request applies', async () => {
    const { key, policy } = await newGuardedKey(place, [{ members: [ada, ben, cleo], threshold: 2 }]);
    const { approvalId } = await held(place, order(key.name));
    const { id, name, keys, stages } = policy.body;
    const eased = { name, keys, stages: [{ ...stages[0], threshold: 1 }] };
    expect((await edit(`/api/v1/approval-policies/${id}`, 1, eased)).status).toBe(200);
    expect((await vote(place.service, approvalId, ada)).body.status).toBe('PENDING');
    const next = await held(place, order(key.name));
    expect((await vote(place.service, next.approvalId, ada)).body.status).toBe('APPROVED');
    const removed = await place.service.call('DELETE', `/api/v1/approval-policies/${id}`, { key: place.apiKey });
    expect(removed.status).toBe(204);
    expect((await sign(place.service, { key: place.apiKey, body: order(key.name) })).status).toBe(200);
    expect((await vote(place.service, approvalId, ben)).body.status).toBe('APPROVED');
  });

  it('a disabled person no longer counts', async () => {
    const dan = await newApprover(place);
    const { key } = await newGuardedKey(place, [{ members: [ada, ben, dan], threshold: 2 }]);
    const { approvalId } = await held(place, order(key.name));
    expect((await vote(place.service, approvalId, dan)).status).toBe(200);
    const path = `/api/settings/users/${dan.id}`;
    await place.service.call('PATCH', path, { key: place.apiKey, body: { disabled: true } });
    expect((await vote(place.service, approvalId, ada)).body.status).toBe('PENDING');
    expect((await vote(place.service, approvalId, ben)).body.status).toBe('APPROVED');
  });

  it.each<[string, (requester: string, keyId: string) => [string, string, object?]]>([
    ['was disabled', (id) => ['PATCH', `/api/settings/users/${id}`, { disabled: true }]],
    ['lost the role', (id) => ['PATCH', `/api/settings/users/${id}`, { roles: ['viewer'] }]],
    ['asked through an API key that was revoked', (_, keyId) => ['DELETE', `/api/settings/api-keys/${keyId}`]],
  ])('a request is withdrawn at the last vote if its requester %s', async (_, change) => {
    const boss = await newApprover(place, ['admin']);
    const { key } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
    const theirs = await newApiKey(place.service, boss.accessToken, ['sign:digest']);
    const { approvalId, requestId } = await held(place, order(key.name), theirs.key);
    const [method, path, body] = change(boss.id, theirs.id);
    expect((await place.service.call(method, path, { key: place.apiKey, body })).status).toBeLessThan(300);
    // The request is withdrawn either by the service shortly before the vote or by the vote itself.
    await vote(place.service, approvalId, ada);
    expect((await approval(place, approvalId)).body.status).toBe('WITHDRAWN');
    const request = await read(place.service, place.apiKey, requestId);
    expect(request.body).toMatchObject({ status: 'FAILED', failure: { code: 'approval.withdrawn' } });
  });
});
