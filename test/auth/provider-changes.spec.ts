import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import { Browser } from './browser.js';
import { deviceGrant, makeClient, postForm } from './oauth-calls.js';
import { idOf, me } from './people.js';
import { arrive, CHIEFS_RULE, openQuirkyStage, personAt, putQuirky, type QuirkyStage, RELEASE_RULE, signInAt } from './quirky-calls.js'; // prettier-ignore

let place: QuirkyStage;
let stage: QuirkyStage['stage'];
let service: QuirkyStage['service'];
let apiKey: string;
let provider: QuirkyStage['provider'];

beforeAll(async () => {
  place = await openQuirkyStage();
  ({ stage, service, apiKey, provider } = place);
});
afterAll(() => place.close());
beforeEach(async () => {
  await put('main');
});

const put = (name: string, change: object = {}) =>
  putQuirky(service, apiKey, { name, provider, change: { rules: [RELEASE_RULE, CHIEFS_RULE], ...change } });
const person = (sub: string, groups: string[]) => personAt(provider, sub, groups);

describe('disabling or changing a provider', () => {
  it('ends its sessions, refresh tokens, device codes and tickets, even after it is enabled again', async () => {
    person('owned', ['chiefs']);
    const tokens = await signInAt(service, 'main');
    const key = tokens['access_token'] ?? '';
    const client = await makeClient(service, apiKey, ['audit:read'], 'public');
    const { body: device } = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
    await service.call('POST', `/api/auth/device/${device.user_code}/approve`, { key });
    const browser = new Browser();
    const arrived = await arrive(service, 'main', { browser, answer: 'cookie' });
    await put('main', { enabled: false });
    const ended = await stage.sql(
      `SELECT FROM audit_entry WHERE action = 'session.ended' AND detail ->> 'because' = 'provider-disabled'`,
    );
    expect(ended.length).toBeGreaterThanOrEqual(1);
    await put('main');
    expect((await me(service, key)).status).toBe(401);
    const refresh = { refresh_token: tokens['refresh_token'] };
    expect((await service.call('POST', '/api/auth/refresh', { body: refresh })).status).toBe(401);
    const denied = await postForm(service, '/oauth/token', deviceGrant(client, device.device_code));
    expect(denied.body.error).toBe('access_denied');
    expect((await browser.request(`${service.url}${arrived.location}`)).status).toBe(401);
  });

  it('ends its sessions when a rule is removed, but not when it is saved unchanged', async () => {
    person('eve', ['chiefs']);
    const { access_token: key = '' } = await signInAt(service, 'main');
    await put('main');
    await put('main', { rules: [RELEASE_RULE, CHIEFS_RULE, { ...RELEASE_RULE, value: 'more' }] });
    expect((await me(service, key)).status).toBe(200);
    await put('main', { rules: [RELEASE_RULE] });
    expect((await me(service, key)).status).toBe(401);
  });

  it.each<[string, object]>([
    ['whose rules were changed', { rules: [RELEASE_RULE] }],
    ['that was disabled', { enabled: false }],
  ])('invalidates a response received from a provider %s while the response was pending', async (_, change) => {
    let answer = () => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    provider.is({
      held,
      claims: {
        sub: 'slow',
        email: 'slow@rights.example',
        groups: ['chiefs'],
        auth_time: Math.floor(Date.now() / 1000),
      },
    });
    const arriving = arrive(service, 'main');
    await expect.poll(() => provider.seen.length, { timeout: 5000 }).toBeGreaterThan(0);
    await put('main', change);
    answer();
    expect(await arriving).toMatchObject({ status: 401, code: 'sso.provider-changed' });
    await expect(idOf(stage, 'slow@rights.example')).rejects.toThrow('there is no');
  });

  it('limits calls to an unresponsive provider to one in a few seconds, however often a stranger triggers them', async () => {
    provider.is({ wellKnown: '/nowhere' });
    const before = provider.documentsRead;
    const query = new URLSearchParams({ iss: `${provider.origin}/other`, sid: 'x' }).toString();
    for (let i = 0; i < 5; i += 1) await service.call('GET', `/api/auth/oidc/frontchannel-logout?${query}`);
    const once = provider.documentsRead - before;
    expect(once).toBeLessThanOrEqual(2);
  });
});

describe('a person from a provider', () => {
  it('cannot get a password link from an administrator, which would outlast a sign-out by the provider', async () => {
    person('passwordless', ['chiefs']);
    await signInAt(service, 'main');
    const id = await idOf(stage, 'passwordless@rights.example');
    const path = `/api/settings/users/${id}/password-reset`;
    const shown = await service.call('GET', `/api/settings/users/${id}`, { key: apiKey });
    expect(shown.body.providers).toEqual(['main']);
    const ofProvider = { status: 409, code: 'user.of-provider' };
    assertProblem(await service.call('POST', path, { key: apiKey }), ofProvider);
    await stage.change(`UPDATE user_account SET password_hash = 'set by an operator' WHERE id = '${id}'`);
    assertProblem(await service.call('POST', path, { key: apiKey }), ofProvider);
  });

  it('cannot be given other roles by an administrator, which the next sign-in would undo, but can be disabled', async () => {
    person('managed', ['chiefs']);
    await signInAt(service, 'main');
    const path = `/api/settings/users/${await idOf(stage, 'managed@rights.example')}`;
    const patch = (body: object) => service.call('PATCH', path, { key: apiKey, body });
    assertProblem(await patch({ roles: ['viewer'] }), { status: 409, code: 'user.of-provider' });
    expect((await patch({ roles: ['approver', 'admin'], disabled: true })).status).toBe(200);
    expect((await arrive(service, 'main')).code).toBe('sso.disabled');
    await service.call('DELETE', '/api/settings/identity-providers/main', { key: apiKey });
    expect((await patch({ roles: ['viewer'] })).body.roles).toEqual(['viewer']);
  });

  it('keeps 16,384 characters of groups, first those of approver groups', async () => {
    const ssoGroups = [{ provider: 'main', group: 'the last one' }];
    const body = { name: 'approvers of main', members: [], ssoGroups };
    expect((await service.call('POST', '/api/v1/approver-groups', { key: apiKey, body })).status).toBe(201);
    const many = Array.from({ length: 300 }, (_, i) => `${i} `.padEnd(100, 'g'));
    person('sociable', ['release', ...many, 'the last one']);
    await signInAt(service, 'main');
    const [identity] = await stage.sql<{ groups: string[] }>(
      `SELECT groups FROM external_identity WHERE user_id = '${await idOf(stage, 'sociable@rights.example')}'`,
    );
    expect(identity?.groups.slice(0, 2)).toEqual(['the last one', 'release']);
    expect(identity?.groups.join('')).toHaveLength(16_319);
  });

  it('who first signs in through several windows at once gets one account and is signed in', async () => {
    person('eager', ['release']);
    const arrivals = await Promise.all(Array.from({ length: 5 }, () => arrive(service, 'main')));
    expect(arrivals.map(({ status }) => status)).toEqual([303, 303, 303, 303, 303]);
  });
});

describe('scopes that a person removed from the request', () => {
  it('do not yield default roles in place of what a rule would give', async () => {
    await put('main', { defaultRoles: ['viewer'], scopes: ['openid', 'groups'] });
    provider.is({ claims: { sub: 'scopes', email: 'scopes@rights.example' }, tokens: { scope: 'openid' } });
    expect((await arrive(service, 'main')).code).toBe('sso.claims-left-out');
    provider.is({ claims: { sub: 'scopes', email: 'scopes@rights.example' }, tokens: { scope: 'openid groups' } });
    expect((await arrive(service, 'main')).status).toBe(303);
  });
});
