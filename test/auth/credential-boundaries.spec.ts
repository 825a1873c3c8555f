import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  held,
  newApprover,
  newGuardedKey,
  openApprovalFixture,
  type ApprovalFixture,
  vote,
} from '../approvals/approvers.js';
import { inDays, newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf } from '../support/signing.js';
import { assertOAuthError, type Client, deviceGrant, makeClient, postForm } from './oauth-calls.js';
import { me, type Person, register } from './people.js';

let place: ApprovalFixture;
let service: Service;

beforeAll(async () => {
  place = await openApprovalFixture();
  ({ service } = place);
});
afterAll(() => place.stage.close());

const STEP_UP = { status: 403, code: 'auth.step-up' };

async function device(person: Person, permissions: string[], approve: string = person.accessToken) {
  const client: Client = await makeClient(service, place.apiKey, permissions, 'public');
  const { body } = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
  const approved = await service.call('POST', `/api/auth/device/${body.user_code}/approve`, { key: approve });
  const tokens = (await postForm(service, '/oauth/token', deviceGrant(client, body.device_code))).body;
  return { client, approved, tokens };
}

/** Backdates the last authentication of a session by this many minutes. */
const age = (session: string, minutes: number) =>
  place.stage.change(`UPDATE auth_session SET authenticated_at = now() - make_interval(mins => $2) WHERE id = $1`, [
    session,
    minutes,
  ]);
const sessionOf = async (token: string): Promise<string> => (await me(service, token)).body.session;
const newKey = (key: string) =>
  service.call('POST', '/api/settings/api-keys', {
    key,
    body: { name: 'fresh', permissions: ['sign:read'], expiry: inDays(1) },
  });

describe('a device session', () => {
  it('is as old as the sign-in of the person who approved it', async () => {
    const boss = await newApprover(place, ['admin']);
    const session = await sessionOf(boss.accessToken);
    await age(session, 3);
    const { tokens } = await device(boss, ['admin:*']);
    const [row] = await place.stage.sql<{ same: boolean }>(
      `SELECT date_trunc('milliseconds', a.authenticated_at) = date_trunc('milliseconds', d.authenticated_at) AS same
       FROM auth_session a, auth_session d WHERE a.id = $1 AND d.id = $2`,
      [session, await sessionOf(tokens.access_token)],
    );
    expect(row?.same).toBe(true);
  });

  it('cannot be approved in a browser with an old authentication', async () => {
    const boss = await newApprover(place, ['admin']);
    const other = await place.stage.start({ role: 'api' });
    await age(await sessionOf(boss.accessToken), 6);
    const client = await makeClient(service, place.apiKey, ['admin:*'], 'public');
    const { body } = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
    const approve = `/api/auth/device/${body.user_code}/approve`;
    assertProblem(await other.call('POST', approve, { key: boss.accessToken }), STEP_UP);
    assertOAuthError(
      await postForm(service, '/oauth/token', deviceGrant(client, body.device_code)),
      400,
      'authorization_pending',
    );
    await other.kill();
  });

  it('is never fresh by itself: voting and creating secrets require a step-up', async () => {
    const boss = await newApprover(place, ['admin', 'approver']);
    const { key } = await newGuardedKey(place, [{ members: [boss], threshold: 1 }]);
    const asker = await newApprover(place, ['operator']);
    const order = () => ({ key: key.name, digest: digestOf(randomUUID()) });
    const { approvalId } = await held(place, order(), asker.accessToken);
    const { approvalId: ofOwner } = await held(place, order());
    const { approved, tokens } = await device(boss, ['admin:*']);
    expect(approved.status).toBe(204);
    assertProblem(await vote(service, approvalId, { accessToken: tokens.access_token }), STEP_UP);
    assertProblem(await newKey(tokens.access_token), STEP_UP);
    const stepUp = (password: string) =>
      service.call('POST', '/api/auth/step-up', { key: tokens.access_token, body: { password } });
    assertProblem(await stepUp('not the password 1'), { status: 401, code: 'auth.wrong-credentials' });
    assertProblem(await newKey(tokens.access_token), STEP_UP);
    expect((await stepUp(boss.password)).status).toBe(204);
    expect((await newKey(tokens.access_token)).status).toBe(201);
    expect((await vote(service, approvalId, { accessToken: tokens.access_token })).body.status).toBe('APPROVED');
    // The public client's owner made this request and controls the program that votes.
    const own = await vote(service, ofOwner, { accessToken: tokens.access_token });
    assertProblem(own, { status: 403, code: 'approval.own-request' });
  });

  it('cannot take over the account, and API keys and clients cannot step up', async () => {
    const person = await register(service);
    const { tokens } = await device(person, ['sign:read']);
    const body = { currentPassword: person.password, password: 'another good password 9' };
    const taken = await service.call('POST', '/api/auth/password', { key: tokens.access_token, body });
    assertProblem(taken, { status: 403, code: 'auth.person-needed' });
    const byKey = await service.call('POST', '/api/auth/step-up', { key: place.apiKey, body: { password: 'x' } });
    assertProblem(byKey, { status: 403, code: 'auth.person-needed' });
  });

  it('cannot be obtained after the person changed the password', async () => {
    const person = await register(service);
    const client = await makeClient(service, place.apiKey, ['sign:read'], 'public');
    const { body } = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
    const approve = `/api/auth/device/${body.user_code}/approve`;
    expect((await service.call('POST', approve, { key: person.accessToken })).status).toBe(204);
    const change = { currentPassword: person.password, password: 'another good password 9' };
    expect((await service.call('POST', '/api/auth/password', { key: person.accessToken, body: change })).status).toBe(
      204,
    );
    const late = await postForm(service, '/oauth/token', deviceGrant(client, body.device_code));
    assertOAuthError(late, 400, 'access_denied');
  });

  it('ends with the password that approved it, including its refresh token', async () => {
    const person = await register(service);
    const { client, tokens } = await device(person, ['sign:read']);
    const change = { currentPassword: person.password, password: 'another good password 9' };
    expect((await service.call('POST', '/api/auth/password', { key: person.accessToken, body: change })).status).toBe(
      204,
    );
    expect((await me(service, tokens.access_token)).status).toBe(401);
    const grant = { grant_type: 'refresh_token', client_id: client.client_id, refresh_token: tokens.refresh_token };
    assertOAuthError(await postForm(service, '/oauth/token', grant), 400, 'invalid_grant');
  });
});

describe('a misused refresh token ends its session', () => {
  const refresh = (token: string) => service.call('POST', '/api/auth/refresh', { body: { refresh_token: token } });
  const redeem = (token: string, extra: Record<string, string> = {}) =>
    postForm(service, '/oauth/token', { grant_type: 'refresh_token', refresh_token: token, ...extra });
  const isOver = async (token: string) => expect((await me(service, token)).status).toBe(401);

  it('if it belongs to a client and is used at the endpoint for people', async () => {
    const { client, tokens } = await device(await register(service), ['sign:read']);
    assertProblem(await refresh(tokens.refresh_token), { status: 401, code: 'auth.bad-refresh-token' });
    await isOver(tokens.access_token);
    assertOAuthError(await redeem(tokens.refresh_token, { client_id: client.client_id }), 400, 'invalid_grant');
    const [entry] = await place.stage.sql<{ because: string }>(
      `SELECT ended_because AS because FROM auth_session WHERE client_id = $1`,
      [client.client_id],
    );
    expect(entry?.because).toBe('refresh-token-misused');
  });

  it('if it belongs to a client and is used by another client or none', async () => {
    const thief = await makeClient(service, place.apiKey, ['sign:read']);
    const named = { client_id: thief.client_id, client_secret: thief.client_secret };
    for (const extra of [named, {}] as Record<string, string>[]) {
      const { client, tokens } = await device(await register(service), ['sign:read']);
      assertOAuthError(await redeem(tokens.refresh_token, extra), 400, 'invalid_grant');
      await isOver(tokens.access_token);
      assertOAuthError(await redeem(tokens.refresh_token, { client_id: client.client_id }), 400, 'invalid_grant');
    }
  });

  it('if it is from a sign-in and is used by a client', async () => {
    const person = await register(service);
    const client = await makeClient(service, place.apiKey, ['sign:read'], 'public');
    assertOAuthError(await redeem(person.refreshToken, { client_id: client.client_id }), 400, 'invalid_grant');
    await isOver(person.accessToken);
  });
});

it('the API explorer cookie contains no credential, and ends with the credential that opened it', async () => {
  const other = await place.stage.start({ role: 'api' });
  const { id, key } = await newApiKey(service, place.apiKey, ['sign:read']);
  const person = await register(service);
  for (const [credential, end] of [
    [key, () => service.call('DELETE', `/api/settings/api-keys/${id}`, { key: place.apiKey })],
    [person.accessToken, () => service.call('POST', '/api/auth/logout', { key: person.accessToken })],
  ] as const) {
    const { status, headers } = await service.call('POST', '/swagger-ui/session', { key: credential });
    expect(status).toBe(204);
    const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';');
    expect(cookie).not.toContain(credential);
    const pass = cookie.split('=')[1] ?? '';
    const docs = (at: Service, sent = cookie) => at.call('GET', '/swagger-ui/api-docs', { headers: { cookie: sent } });
    expect((await docs(service)).status).toBe(200);
    expect((await me(service, pass)).status).toBe(401);
    const changed = pass.replace(/\.\d+\./, `.${Math.floor(Date.now() / 1000) + 99_999}.`);
    expect((await docs(service, `sealwright_explorer=${changed}`)).status).toBe(401);
    await end();
    expect((await docs(other)).status).toBe(401);
  }
  await other.kill();
});

describe('unauthenticated operations', () => {
  /** Returns the first 64 bits of an IPv6 address that no other test uses. */
  const newNetwork = () =>
    `2001:db8:${randomBytes(2).readUInt16BE().toString(16)}:${randomBytes(2).readUInt16BE().toString(16)}`;
  const from = (address: string) => ({ 'x-forwarded-for': address });
  let behindProxy: Service;
  beforeAll(async () => {
    behindProxy = await place.stage.start({ role: 'api', settings: { SVC_TRUST_PROXY: '127.0.0.1' } });
  });
  const statuses = async (calls: number, call: (i: number) => Promise<{ status: number }>) => {
    const seen: number[] = [];
    for (let i = 0; i < calls; i += 1) seen.push((await call(i)).status);
    return seen;
  };

  it('are throttled per network, across its addresses, without affecting other networks', async () => {
    const client = await makeClient(service, place.apiKey, ['sign:read'], 'public');
    const begin = (address: string) =>
      postForm(behindProxy, '/oauth/device_authorization', { client_id: client.client_id }, from(address));
    const network = newNetwork();
    const seen = await statuses(130, (i) => begin(`${network}::${(i + 1).toString(16)}`));
    expect(seen.slice(0, 100)).toEqual(seen.slice(0, 100).map(() => 200));
    // One more call is allowed after each delay, and each delay is twice as long as the previous one.
    expect(seen.filter((status) => status === 429).length).toBeGreaterThan(15);
    expect((await begin(`${newNetwork()}::1`)).status).toBe(200);
    expect((await begin('192.0.2.44')).status).toBe(200);
  });

  it.each(['oidc', 'saml'])('are throttled for a sign-in with %s', async (kind) => {
    const network = newNetwork();
    const begin = (address: string) =>
      behindProxy.call('GET', `/api/auth/${kind}/login?provider=none`, { headers: from(address) });
    const seen = await statuses(225, (i) => begin(`${network}:${i.toString(16)}::1`));
    expect(seen.slice(0, 200)).toEqual(seen.slice(0, 200).map(() => 404));
    expect(seen.filter((status) => status === 429).length).toBeGreaterThan(10);
    expect((await begin(`${newNetwork()}::1`)).status).toBe(404);
  });

  it('count password guesses against the network too', async () => {
    const person = await register(service);
    const guess = (address: string, i: number) =>
      behindProxy.call('POST', '/api/auth/login', {
        headers: from(address),
        body: { email: person.email, password: `guess number ${i}` },
      });
    const network = newNetwork();
    const seen = await statuses(16, (i) => guess(`${network}:${i.toString(16)}::1`, i));
    expect(seen.slice(0, 10)).toEqual(seen.slice(0, 10).map(() => 401));
    expect(seen).toContain(429);
  });
});
