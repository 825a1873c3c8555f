import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { deviceGrant, makeClient, postForm } from '../auth/oauth-calls.js';
import { AUDIENCE, newTrust, openWorkloadStage, RELEASES, runOf, trustIssuer } from '../auth/workload-calls.js';
import { GITHUB } from '../fakes/workload-claims.js';
import { WorkloadIssuer } from '../fakes/workload-issuer.js';
import { inDays, newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import { digestOf, until } from '../support/signing.js';
import { newClientKey } from '../support/sshd.js';
import {
  approval,
  type Approver,
  held,
  newApprover,
  newGroup,
  newGuardedKey,
  newTeam,
  unique,
  vote,
} from './approvers.js';

const issuer = new WorkloadIssuer();
const { stage, service, key: apiKey, issuerId } = await openWorkloadStage(issuer);
const place = { stage, service, apiKey };
const directory = mkdtempSync(join(tmpdir(), 'sealwright-grounds-'));
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await issuer.stop();
  await stage.close();
});
const { ann, bob, cleo } = await newTeam(place, 'ann', 'bob', 'cleo');
const call = (method: string, path: string, body?: object, key = apiKey, headers = {}) =>
  service.call(method, path, { key, headers, ...(body === undefined ? {} : { body }) });
const change = (person: Approver, body: object) => call('PATCH', `/api/settings/users/${person.id}`, body);
const ask = (keyName: string, by: string) => held(place, { digest: digestOf(randomUUID()), key: keyName }, by);
const guardedBy = async (...members: Approver[]) => (await newGuardedKey(place, [{ members, threshold: 1 }])).key.name;

/** Issues a person's token through a client; `maker` created the client and has seen its secret. */
async function tokenAtClient(person: Approver, maker: string, permissions: string[]) {
  const granted = permissions.filter((scope) => scope !== 'approvals:approve');
  const client = await makeClient(service, maker, granted);
  // Only a client that was created by an earlier version can have both a secret and the voting scope.
  if (granted.length < permissions.length) {
    const update = `UPDATE oauth_client SET permissions = $2 WHERE id = $1`;
    await place.stage.change(update, [client.client_id, permissions]);
  }
  const secret = { client_id: client.client_id, client_secret: client.client_secret };
  const { body } = await postForm(service, '/oauth/device_authorization', secret);
  await call('POST', `/api/auth/device/${body.user_code}/approve`, {}, person.accessToken);
  const { body: tokens } = await postForm(service, '/oauth/token', {
    ...deviceGrant(client, body.device_code),
    ...secret,
  });
  expect(tokens.access_token).toEqual(expect.any(String));
  return { client, token: tokens.access_token as string };
}

/** Trusts an issuer whose keys were uploaded by the given caller. */
async function uploadedIssuer(by: string) {
  const keys = new WorkloadIssuer();
  await keys.start();
  const jwks = await (await fetch(`${keys.issuer}/jwks`)).json();
  const order = { issuer: `https://${unique('uploaded')}.example`, jwks };
  const { id } = await trustIssuer({ service, key: by }, order);
  return { id, keys, name: order.issuer };
}

describe('a pending request is withdrawn at the last vote', () => {
  it('if its requester holds another scope for its kind, but not the one that the call required', async () => {
    const boss = await newApprover(place, ['admin']);
    const { body: group } = await newGroup(place, [ann]);
    const { body: authority } = await call('POST', '/v1/ssh-ca', { name: unique('people'), kind: 'user' });
    const stages = [{ group: group.id, threshold: 1 }];
    const policy = { name: unique('policy'), subject: 'ssh-certificate', keys: [authority.name], stages };
    expect((await call('POST', '/api/v1/approval-policies', policy)).status).toBe(201);
    const { publicKey } = newClientKey(directory, 'root');
    const [validAfter, validBefore] = [-1, 30].map((days) => inDays(days));
    const order = { publicKey, keyId: 'boss', principals: ['root'], validAfter, validBefore };
    const path = `/v1/ssh-ca/${authority.id}/certificates`;
    const { body: asked } = await call('POST', path, order, boss.accessToken);
    await change(boss, { roles: ['viewer'] });
    expect((await vote(service, asked.approvalId, ann)).body.status).toBe('WITHDRAWN');
    expect((await call('GET', `${path}/${asked.id}`)).body).toMatchObject({
      status: 'FAILED',
      failure: { code: 'approval.withdrawn' },
    });
  });

  it('if a key manager requested a self-signed certificate and is now an operator', async () => {
    const boss = await newApprover(place, ['admin']);
    const { key } = await newGuardedKey(place, [{ members: [ann], threshold: 1 }]);
    const path = `/api/v1/signing-keys/${key.id}/self-signed-certificate`;
    expect((await call('POST', path, { subject: { commonName: 'Releases' } }, boss.accessToken)).status).toBe(202);
    const [waiting] = await stage.sql<{ id: string }>(
      `SELECT id FROM approval WHERE status = 'PENDING' AND owner_id = $1`,
      [boss.id],
    );
    await change(boss, { roles: ['operator'] });
    expect((await vote(service, waiting?.id ?? '', ann)).body.status).toBe('WITHDRAWN');
  });

  it('if the client whose token the person used for the request was revoked', async () => {
    const key = await guardedBy(ann);
    const { client, token } = await tokenAtClient(await newApprover(place, ['operator']), apiKey, ['sign:digest']);
    const { approvalId } = await ask(key, token);
    expect((await call('DELETE', `/api/settings/oauth-clients/${client.client_id}`)).status).toBe(204);
    expect((await vote(service, approvalId, ann)).body.status).toBe('WITHDRAWN');
  });

  it('if the API key that made it can no longer use the signing key', async () => {
    const key = await guardedBy(ann);
    const asked = await newApiKey(service, apiKey, ['sign:digest']);
    const { approvalId } = await ask(key, asked.key);
    const kept = await ask(key, asked.key);
    const limit = (keys: string[], version: string) =>
      call('PATCH', `/api/settings/api-keys/${asked.id}`, { keys }, apiKey, { 'if-match': version });
    expect((await limit(['another-*'], '"1"')).status).toBe(200);
    expect((await vote(service, approvalId, ann)).body.status).toBe('WITHDRAWN');
    expect((await limit([key], '"2"')).status).toBe(200);
    expect((await vote(service, kept.approvalId, ann)).body.status).toBe('APPROVED');
  });

  it.each<[string, (trust: string) => [string, string, object?]]>([
    ['trust was removed', (id) => ['DELETE', `/api/settings/workload-trusts/${id}`]],
    ['trust was changed', (id) => ['PUT', `/api/settings/workload-trusts/${id}`, { enabled: true }]],
    ['trust was disabled', (id) => ['PUT', `/api/settings/workload-trusts/${id}`, { enabled: false }]],
  ])('if it was made by a workload run whose %s', async (_, ending) => {
    const key = await guardedBy(ann);
    const order = { name: unique('trust'), issuerId, audience: AUDIENCE, conditions: RELEASES, keys: ['*'] };
    const trust = await newTrust({ service, key: apiKey }, issuerId, order);
    const { approvalId } = await ask(key, await runOf(service, issuer, GITHUB, { trust: order.name }));
    const [method, path, body] = ending(trust.id);
    const full = body && { ...order, scopes: ['sign:digest', 'sign:read'], ...body };
    expect((await call(method, path, full, apiKey, { 'if-match': '"1"' })).status).toBeLessThan(300);
    expect((await vote(service, approvalId, ann)).body.status).toBe('WITHDRAWN');
    await call('DELETE', `/api/settings/workload-trusts/${trust.id}`);
  });

  it('if it was made by a run whose issuer was disabled, even if the issuer is enabled again', async () => {
    const key = await guardedBy(ann);
    const own = new WorkloadIssuer();
    await own.start();
    const { id, name } = await trustIssuer({ service, key: apiKey }, { issuer: own.issuer });
    const order = { name: unique('trust'), issuerId: id, audience: AUDIENCE, conditions: RELEASES, keys: ['*'] };
    await newTrust({ service, key: apiKey }, id, order);
    const run = await runOf(service, own, GITHUB, { trust: order.name });
    const { approvalId } = await ask(key, run);
    for (const enabled of [false, true]) {
      const headers = { 'if-match': `"${enabled ? 2 : 1}"` };
      const put = await call('PUT', `/api/settings/workload-issuers/${id}`, { name, enabled }, apiKey, headers);
      expect(put.status).toBe(200);
    }
    expect((await vote(service, approvalId, ann)).body.status).toBe('WITHDRAWN');
    expect((await call('GET', '/api/v1/sign/requests', undefined, run)).status).toBe(401);
    await own.stop();
  });

  it('if it was made by a run whose issuer was removed, or whose keys were uploaded by a person who was disabled', async () => {
    const key = await guardedBy(ann);
    for (const isDisabled of [true, false]) {
      const eve = await newApprover(place, ['admin']);
      const uploaded = await uploadedIssuer(eve.accessToken);
      const trust = await newTrust({ service, key: apiKey }, uploaded.id);
      const now = Math.floor(Date.now() / 1000);
      const claims = { ...GITHUB, iss: uploaded.name, aud: AUDIENCE, jti: randomUUID(), iat: now, exp: now + 300 };
      const { body } = await postForm(service, '/oauth/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: await uploaded.keys.sign(claims),
        trust: trust.name,
      });
      const { approvalId } = await ask(key, body.access_token);
      if (isDisabled) await change(eve, { disabled: true });
      else await call('DELETE', `/api/settings/workload-issuers/${uploaded.id}`);
      expect((await vote(service, approvalId, ann)).body.status).toBe('WITHDRAWN');
      await uploaded.keys.stop();
    }
  });

  it('if it is for a certificate under a login rule that was removed', async () => {
    const { body: group } = await newGroup(place, [ann]);
    const { body: authority } = await call('POST', '/v1/ssh-ca', { name: unique('logins'), kind: 'user' });
    const stages = [{ group: group.id, threshold: 1 }];
    const policy = { name: unique('policy'), subject: 'ssh-certificate', keys: [authority.name], stages };
    expect((await call('POST', '/api/v1/approval-policies', policy)).status).toBe(201);
    const conditions = [{ claim: 'email', values: [bob.email] }];
    const common = { name: unique('rule'), authorityId: authority.id, subject: 'person', principals: ['deploy'] };
    const rule = await call('POST', '/v1/ssh-login-rules', { ...common, conditions, lifeSeconds: 600 });
    expect(rule.status).toBe(201);
    const { publicKey } = newClientKey(directory, 'login');
    const { body: asked } = await call('POST', '/v1/ssh-login', { publicKey }, bob.accessToken);
    expect((await call('DELETE', `/v1/ssh-login-rules/${rule.body.id}`)).status).toBe(204);
    expect((await vote(service, asked.approvalId, ann)).body.status).toBe('WITHDRAWN');
  });
});

describe('a request is withdrawn before a decision', () => {
  it.each<[string, object]>([
    ['was disabled', { disabled: true }],
    ['has no role any more that may make it', { roles: ['viewer'] }],
  ])('if its requester %s', async (_, loss) => {
    const boss = await newApprover(place, ['admin']);
    const { approvalId } = await ask(await guardedBy(ann), boss.accessToken);
    await change(boss, loss);
    await until(
      'the end of the request',
      10,
      async () => (await approval(place, approvalId)).body.status !== 'PENDING',
    );
    expect((await approval(place, approvalId)).body.status).toBe('WITHDRAWN');
  });

  it('by an approvals administrator, but not by a client that may only read approvals', async () => {
    const boss = await newApprover(place, ['operator']);
    const { token } = await tokenAtClient(boss, apiKey, ['approvals:read']);
    const first = await ask(await guardedBy(ann), boss.accessToken);
    const withdraw = (id: string, key: string) => call('POST', `/api/v1/approvals/${id}/withdraw`, undefined, key);
    assertProblem(await withdraw(first.approvalId, token), { status: 403, code: 'insufficient_scope' });
    expect((await withdraw(first.approvalId, boss.accessToken)).body.status).toBe('WITHDRAWN');
    const second = await ask(await guardedBy(ann), boss.accessToken);
    expect((await withdraw(second.approvalId, apiKey)).body.status).toBe('WITHDRAWN');
  });
});

describe('people who could have made a request cannot vote on it', () => {
  const never = { status: 403, code: 'approval.own-request' };

  it('as earlier editors of the trust of a run, or as the person who configured the URL of its issuer', async () => {
    const mallory = await newApprover(place, ['admin', 'approver']);
    const key = await guardedBy(mallory, ann);
    const order = { name: unique('trust'), issuerId, audience: AUDIENCE, conditions: RELEASES, keys: ['*'] };
    const trust = await newTrust({ service, key: mallory.accessToken }, issuerId, order);
    const edited = { ...order, scopes: ['sign:digest', 'sign:read'] };
    const put = await call('PUT', `/api/settings/workload-trusts/${trust.id}`, edited, apiKey, { 'if-match': '"1"' });
    expect(put.status).toBe(200);
    const first = await ask(key, await runOf(service, issuer, GITHUB, { trust: order.name }));
    assertProblem(await vote(service, first.approvalId, mallory), never);
    await call('DELETE', `/api/settings/workload-trusts/${trust.id}`);

    const own = new WorkloadIssuer();
    await own.start();
    const { id } = await trustIssuer({ service, key: mallory.accessToken }, { issuer: own.issuer });
    await newTrust({ service, key: apiKey }, id);
    const second = await ask(key, await runOf(service, own));
    assertProblem(await vote(service, second.approvalId, mallory), never);
    await own.stop();
  });

  it('with the token of an approver at a client whose secret they have seen', async () => {
    const mallory = await newApprover(place, ['admin']);
    const { token } = await tokenAtClient(bob, mallory.accessToken, ['approvals:approve', 'approvals:read']);
    const stepUp = await call('POST', '/api/auth/step-up', { password: bob.password }, token);
    expect(stepUp.status).toBeLessThan(300);
    const key = await guardedBy(bob);
    const { approvalId } = await ask(key, mallory.accessToken);
    assertProblem(await vote(service, approvalId, { accessToken: token }), never);
    expect((await vote(service, approvalId, bob)).body.status).toBe('APPROVED');
    // The client can still be used to vote on other people's requests.
    const other = await ask(key, apiKey);
    expect((await vote(service, other.approvalId, { accessToken: token })).body.status).toBe('APPROVED');
  });

  it('by adding friends with an API key of another person that was shown to them', async () => {
    const mallory = await newApprover(place, ['admin']);
    const { key, groups } = await newGuardedKey(place, [{ members: [ann], threshold: 1 }]);
    const { id } = await newApiKey(service, apiKey, ['admin:*']);
    const rotate = { expiry: inDays(1), overlapHours: 1 };
    const { body: shown } = await call('POST', `/api/settings/api-keys/${id}/rotate`, rotate, mallory.accessToken);
    const { approvalId } = await ask(key.name, mallory.accessToken);
    const { id: groupId, name } = groups[0]?.body ?? {};
    const wider = { name, members: [ann.id, cleo.id] };
    const headers = { 'if-match': '"1"' };
    expect((await call('PUT', `/api/v1/approver-groups/${groupId}`, wider, shown.key, headers)).status).toBe(200);
    assertProblem(await vote(service, approvalId, cleo), { status: 403, code: 'approval.not-approver' });
    const waiting = await call('GET', '/api/v1/approvals?waiting=me', undefined, cleo.accessToken);
    expect(waiting.body.items.map((one: { id: string }) => one.id)).not.toContain(approvalId);
  });
});

describe('at the last vote, earlier votes count only', () => {
  it('from people who are still members of the group of their stage', async () => {
    const [first, last] = [
      { members: [ann, cleo], threshold: 1 },
      { members: [bob], threshold: 1 },
    ];
    const { key, groups } = await newGuardedKey(place, [first, last]);
    const { approvalId } = await ask(key.name, apiKey);
    expect((await vote(service, approvalId, ann)).body.status).toBe('PENDING');
    const { id, name } = groups[0]?.body ?? {};
    const without = { name, members: [cleo.id] };
    const headers = { 'if-match': '"1"' };
    expect((await call('PUT', `/api/v1/approver-groups/${id}`, without, apiKey, headers)).status).toBe(200);
    expect((await vote(service, approvalId, bob)).body.status).toBe('PENDING');
    const waiting = await call('GET', '/api/v1/approvals?waiting=me', undefined, cleo.accessToken);
    expect(waiting.body.items.map((one: { id: string }) => one.id)).toContain(approvalId);
  });

  it('from people who still have a role that may approve', async () => {
    const lowered = await newApprover(place);
    const { key } = await newGuardedKey(place, [{ members: [lowered, bob, cleo], threshold: 2 }]);
    const { approvalId } = await ask(key.name, apiKey);
    expect((await vote(service, approvalId, lowered)).body.status).toBe('PENDING');
    await change(lowered, { roles: ['viewer'] });
    expect((await vote(service, approvalId, bob)).body.status).toBe('PENDING');
    expect((await vote(service, approvalId, cleo)).body.status).toBe('APPROVED');
  });
});
