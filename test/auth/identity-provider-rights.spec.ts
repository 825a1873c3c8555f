import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import { Browser } from './browser.js';
import { idOf, login, me, register } from './people.js';
import { arrive, CHIEFS_RULE, openQuirkyStage, personAt, putQuirky, type QuirkyStage, RELEASE_RULE, signInAt } from './quirky-calls.js'; // prettier-ignore

let place: QuirkyStage;
let stage: QuirkyStage['stage'];
let service: QuirkyStage['service'];
let apiKey: string;
let localAdmin: string;
let provider: QuirkyStage['provider'];

beforeAll(async () => {
  place = await openQuirkyStage();
  ({ stage, service, apiKey, provider } = place);
  localAdmin = await idOf(stage, place.adminEmail);
});
afterAll(() => place.close());
beforeEach(async () => {
  await put('main');
});

const put = (name: string, change: object = {}) =>
  putQuirky(service, apiKey, { name, provider, change: { rules: [RELEASE_RULE, CHIEFS_RULE], ...change } });
const person = (sub: string, groups: string[], claims?: object) => personAt(provider, sub, groups, claims);

async function signedIn(sub: string, groups: string[]): Promise<string> {
  person(sub, groups);
  return (await signInAt(service, 'main'))['access_token'] ?? '';
}

interface Entry {
  readonly action: string;
  readonly outcome: string;
  readonly target_id: string;
  readonly detail: Record<string, never>;
}
const entries = (action: string) =>
  stage.sql<Entry>(`SELECT action, outcome, target_id, detail FROM audit_entry WHERE action = $1 ORDER BY at DESC`, [
    action,
  ]);

describe('a sign-in that yields no role', () => {
  it('ends roles, groups, sessions, refresh tokens, device codes and API keys of the person immediately', async () => {
    person('leaver', ['chiefs']);
    const [browser, tokens] = [new Browser(), await signInAt(service, 'main')];
    const token = tokens['access_token'] ?? '';
    const cookie = await arrive(service, 'main', { browser, answer: 'cookie' });
    await browser.request(`${service.url}${cookie.location}`);
    const own = await newApiKey(service, token, ['sign:digest']);
    const id = await idOf(stage, 'leaver@rights.example');
    await stage.change(
      `INSERT INTO device_authorization (id, client_id, device_code_hash, user_code, scopes, status, user_id, poll_seconds, expires_at)
       VALUES (gen_random_uuid(), gen_random_uuid(), '\\x00', 'LEAVERXX', '{sign:read}', 'APPROVED', $1, 5, now() + interval '5 minutes')`,
      [id],
    );
    expect((await me(service, own.key)).status).toBe(200);
    person('leaver', []);
    expect(await arrive(service, 'main')).toMatchObject({ status: 403, code: 'sso.no-role' });

    expect((await me(service, token)).status).toBe(401);
    expect((await browser.request(`${service.url}/api/auth/me`)).status).toBe(401);
    const refresh = { refresh_token: tokens['refresh_token'] };
    expect((await service.call('POST', '/api/auth/refresh', { body: refresh })).status).toBe(401);
    await expect.poll(async () => (await me(service, own.key)).status, { timeout: 5000 }).toBe(401);
    const [row] = await stage.sql<{ roles: string[]; groups: string[]; status: string }>(
      `SELECT u.roles, e.groups, d.status FROM user_account u JOIN external_identity e ON e.user_id = u.id
       JOIN device_authorization d ON d.user_id = u.id WHERE u.id = $1`,
      [id],
    );
    expect(row).toEqual({ roles: [], groups: [], status: 'DENIED' });
    const [lost] = await entries('user.roles-from-provider');
    expect(lost).toMatchObject({
      target_id: id,
      detail: { provider: 'main', before: ['admin', 'approver'], roles: [] },
    });
    const ended = (await entries('session.ended')).filter(({ detail }) => detail['because'] === 'no-role-at-provider');
    expect(ended.length).toBeGreaterThanOrEqual(2);
    expect((await entries('api-key.revoked'))[0]?.detail).toMatchObject({ because: 'no-role-at-provider' });
  });

  it('does not affect other people, and creates no account for a stranger', async () => {
    const token = await signedIn('stayer', ['release']);
    person('stranger', []);
    expect((await arrive(service, 'main')).code).toBe('sso.no-role');
    expect((await me(service, token)).status).toBe(200);
    await expect(idOf(stage, 'stranger@rights.example')).rejects.toThrow('there is no');
  });

  it('reduces the rights of running sessions immediately if it yields fewer roles', async () => {
    const token = await signedIn('lowered', ['chiefs']);
    expect((await me(service, token)).body.scopes).toContain('admin:*');
    await signedIn('lowered', ['release']);
    expect((await me(service, token)).body.scopes).not.toContain('admin:*');
  });

  it('does not reactivate a session started with an earlier sign-in', async () => {
    person('late', ['release']);
    const browser = new Browser();
    const earlier = await arrive(service, 'main', { browser, answer: 'cookie' });
    person('late', []);
    await arrive(service, 'main');
    const opened = await browser.request(`${service.url}${earlier.location}`);
    expect(opened.status).toBe(401);
  });
});

describe('administrators who can sign in', () => {
  /** Makes `sub`, who can sign in only through the provider, the only other administrator. */
  async function onlyBySso(sub: string): Promise<{ token: string; id: string }> {
    await stage.change(`UPDATE user_account SET roles = '{}' WHERE id <> $1`, [localAdmin]);
    const token = await signedIn(sub, ['chiefs']);
    return { token, id: await idOf(stage, `${sub}@rights.example`) };
  }
  const disable = (id: string, disabled = true) =>
    service.call('PATCH', `/api/settings/users/${id}`, { key: apiKey, body: { disabled } });
  /** Changes accounts directly in the database, bypassing the seed's API key, which belongs to the local administrator. */
  const setDisabled = (id: string, disabled: boolean) =>
    stage.change(`UPDATE user_account SET disabled = $2 WHERE id = $1`, [id, disabled]);

  it('must remain when a user is disabled; a provider that yields no administrator does not count', async () => {
    await onlyBySso('chief');
    await put('main', { rules: [RELEASE_RULE] });
    assertProblem(await disable(localAdmin), { status: 409, code: 'user.last-administrator' });
    await put('main', { enabled: false });
    assertProblem(await disable(localAdmin), { status: 409, code: 'user.last-administrator' });
  });

  it.each<[string, (token: string) => Promise<{ status: number }>]>([
    ['removed', (key) => service.call('DELETE', '/api/settings/identity-providers/main?confirm=main', { key })],
    ['disabled', (key) => change(key, { enabled: false })],
    ['left without a rule for administrators', (key) => change(key, { rules: [RELEASE_RULE] })],
  ])('must remain when a provider is %s', async (_, act) => {
    const { token } = await onlyBySso('chief');
    await setDisabled(localAdmin, true);
    try {
      assertProblem((await act(token)) as never, { status: 409, code: 'identity-provider.last-administrator' });
    } finally {
      await setDisabled(localAdmin, false);
    }
  });

  async function change(key: string, body: object, query = '?confirm=main') {
    const { headers } = await service.call('GET', '/api/settings/identity-providers/main', { key });
    const ifMatch = { 'if-match': headers.get('etag') ?? '' };
    return service.call('PATCH', `/api/settings/identity-providers/oidc/main${query}`, { key, body, headers: ifMatch });
  }

  it('must confirm before disabling the provider of their own session', async () => {
    const { token: key } = await onlyBySso('chief');
    const own = { status: 409, code: 'identity-provider.own' };
    assertProblem(await service.call('DELETE', '/api/settings/identity-providers/main', { key }), own);
    assertProblem(await change(key, { enabled: false }, ''), own);
    expect((await change(key, { label: 'Other' }, '')).status).toBe(200);
    expect((await change(key, { enabled: false })).status).toBe(200);
  });

  it('keep their role if a password is their only remaining sign-in method, and otherwise lose it with the provider', async () => {
    const { id } = await onlyBySso('last');
    await setDisabled(localAdmin, true);
    person('last', []);
    await arrive(service, 'main');
    const roles = async () =>
      (await stage.sql<{ roles: string[] }>(`SELECT roles FROM user_account WHERE id = $1`, [id]))[0];
    expect(await roles()).toEqual({ roles: [] });
    await stage.change(`UPDATE user_account SET password_hash = 'x' WHERE id = $1`, [id]);
    await signedIn('last', ['chiefs']);
    person('last', []);
    await arrive(service, 'main');
    expect(await roles()).toEqual({ roles: ['admin'] });
    await stage.change(`UPDATE user_account SET password_hash = NULL, roles = '{}' WHERE id = $1`, [id]);
    await setDisabled(localAdmin, false);
  });
});

describe('the audit log of sign-ins', () => {
  it('contains each failed browser sign-in, with provider, subject and reason', async () => {
    const browser = new Browser();
    person('refused', []);
    expect((await arrive(service, 'main', { browser, answer: 'cookie' })).location).toBe('/console#error=sso.no-role');
    const [noRole] = await entries('auth.sign-in-failed');
    expect(noRole).toMatchObject({
      outcome: 'refused',
      detail: {
        way: 'oidc',
        provider: 'main',
        subject: 'refused',
        code: 'sso.no-role',
        reason: expect.any(String) as string,
      },
    });
    provider.is({ claims: { sub: 'refused', nonce: 'another' } });
    await arrive(service, 'main', { browser, answer: 'cookie' });
    const [refused] = await entries('auth.sign-in-failed');
    expect(refused?.detail).toMatchObject({ provider: 'main', code: 'sso.refused' });
    expect(refused?.detail).not.toHaveProperty('subject');
  });

  it('contains each failed password with the account, and no text that may be the password', async () => {
    const { email } = await register(service);
    await login(service, email, 'not-the-password-1');
    expect((await entries('auth.sign-in-failed'))[0]).toMatchObject({
      outcome: 'refused',
      target_id: email,
      detail: { way: 'password', account: email, code: 'auth.wrong-credentials', operation: 'POST /api/auth/login' },
    });
    await login(service, 'My-Secret-Passphrase-1', 'ann@example.com');
    expect(JSON.stringify(await entries('auth.sign-in-failed'))).not.toMatch(/secret-passphrase/i);
  });

  it('contains the provider, subject and authentication methods of a sign-in', async () => {
    await put('main', { acrValues: ['phr'] });
    person('audited', ['release'], { acr: 'phr', amr: ['hwk', 'user'] });
    await signInAt(service, 'main');
    expect((await entries('auth.signed-in'))[0]?.detail).toMatchObject({
      way: 'oidc',
      provider: 'main',
      subject: 'audited',
      acr: ['phr'],
      methods: ['hwk', 'user'],
    });
  });

  it('contains all differences made by a provider change, without secrets', async () => {
    await put('main', {
      clientSecret: 'another-secret-of-the-client',
      acrValues: ['phr'],
      label: 'New',
      defaultRoles: ['viewer'],
    });
    const [entry] = await entries('identity-provider.changed');
    expect(entry?.detail['changed']).toMatchObject({
      label: { from: 'main', to: 'New' },
      defaultRoles: { from: null, to: ['viewer'] },
      acrValues: { from: null, to: ['phr'] },
      clientSecret: { from: 'earlier', to: 'replaced' },
    });
    expect(JSON.stringify(entry)).not.toContain('another-secret');
  });
});

describe('provider settings', () => {
  it('are patched by member, and only from the version that was read', async () => {
    await put('main', {
      acrValues: ['phr'],
      defaultRoles: ['viewer'],
      scopes: ['openid', 'groups'],
      clientAuthentication: 'client_secret_basic',
    });
    const path = '/api/settings/identity-providers/main';
    const before = await service.call('GET', path, { key: apiKey });
    const tag = before.headers.get('etag') ?? '';
    const patch = (body: object, headers: Record<string, string> = {}) =>
      service.call('PATCH', '/api/settings/identity-providers/oidc/main', { key: apiKey, body, headers });
    assertProblem(await patch({ label: 'x' }), { status: 428, code: 'request.if-match-missing' });
    const changed = await patch({ label: 'Other text' }, { 'if-match': tag });
    expect(changed.body).toEqual({ ...before.body, label: 'Other text', version: before.body.version + 1 });
    assertProblem(await patch({ label: 'Third' }, { 'if-match': tag }), { status: 412, code: 'request.stale' });
    const next = { 'if-match': changed.headers.get('etag') ?? '' };
    const reset = await patch({ acrValues: null, defaultRoles: null, clientAuthentication: null }, next);
    expect(reset.body.defaultRoles).toBeNull();
    expect(reset.body.settings).not.toHaveProperty('acrValues');
    expect(reset.body.settings).not.toHaveProperty('clientAuthentication');
    person('patched', ['release']);
    expect((await arrive(service, 'main')).status).toBe(303);
    assertProblem(await putAs(tag), { status: 412, code: 'request.stale' });
  });

  it('reject null for a member without a default, and members of the other kind', async () => {
    const version = async () =>
      (await service.call('GET', '/api/settings/identity-providers/main', { key: apiKey })).headers.get('etag');
    const patch = async (kind: string, body: object) =>
      service.call('PATCH', `/api/settings/identity-providers/${kind}/main`, {
        key: apiKey,
        body,
        headers: { 'if-match': (await version()) ?? '' },
      });
    assertProblem(await patch('oidc', { issuer: null }), { status: 400, code: 'request.invalid', pointer: '/issuer' });
    assertProblem(await patch('oidc', { logoutUrl: 'https://x.example' }), {
      status: 400,
      code: 'request.invalid',
      pointer: '/logoutUrl',
    });
    assertProblem(await patch('saml', { label: 'x' }), { status: 404, code: 'identity-provider.missing' });
  });

  const putAs = (tag: string) => {
    const body = { label: 'x', enabled: true, rules: [], issuer: provider.origin, clientId: 'x' };
    return service.call('PUT', '/api/settings/identity-providers/oidc/main', {
      key: apiKey,
      body,
      headers: { 'if-match': tag },
    });
  };
});

describe('a test sign-in', () => {
  const OWN = { 'content-type': 'application/json', 'x-csrf-protection': '1', 'sec-fetch-site': 'same-origin' };

  async function administrator(): Promise<Browser> {
    const { email, password } = await register(service, 'tester');
    await stage.change(`UPDATE user_account SET roles = '{admin}' WHERE email = $1`, [email]);
    const browser = new Browser();
    await post(browser, '/api/auth/session', { email, password });
    return browser;
  }
  const post = (browser: Browser, path: string, body: object) =>
    browser.request(`${service.url}${path}`, { method: 'POST', headers: OWN, body: JSON.stringify(body) });
  const whoIs = async (browser: Browser) =>
    (await (await browser.request(`${service.url}/api/auth/me`)).json()) as object;

  async function tested(browser: Browser, name: string): Promise<{ ticket: string; result: Record<string, never> }> {
    const started = await post(browser, `/api/settings/identity-providers/test/${name}/sign-in`, {
      returnTo: '/settings/sso',
    });
    const { redirect } = (await started.json()) as { redirect: string };
    const { location } = await arrive(service, name, { browser, begin: redirect });
    const ticket = /^\/settings\/sso#test=(\w+)$/.exec(location)?.[1] ?? '';
    const answer = await post(browser, '/api/settings/identity-providers/test-results', { ticket });
    return { ticket, result: (await answer.json()) as Record<string, never> };
  }

  it('of a disabled draft returns claims, matched rules, roles and groups, and changes nothing', async () => {
    await put('draft', { enabled: false });
    const browser = await administrator();
    const before = await whoIs(browser);
    const counts = () =>
      stage.sql(`SELECT (SELECT count(*) FROM user_account) AS people, (SELECT count(*) FROM auth_session) AS sessions,
        (SELECT count(*) FROM external_identity) AS identities`);
    const rows = await counts();
    person('tried', ['chiefs', 'staff'], { acr: 'phr', amr: ['pwd'] });
    const { ticket, result } = await tested(browser, 'draft');
    expect(result).toMatchObject({
      provider: 'draft',
      problem: null,
      subject: 'tried',
      claims: { groups: ['chiefs', 'staff'], email: 'tried@rights.example' },
      matched: [CHIEFS_RULE],
      roles: CHIEFS_RULE.roles,
      groups: ['chiefs', 'staff'],
      contexts: ['phr'],
      methods: ['pwd'],
      account: { email: 'tried@rights.example', isNew: true },
    });
    expect(await counts()).toEqual(rows);
    expect(await whoIs(browser)).toEqual(before);
    const again = await post(browser, '/api/settings/identity-providers/test-results', { ticket });
    expect(again.status).toBe(401);
  });

  it('reports why a sign-in would be refused, and removes nothing from the person', async () => {
    const token = await signedIn('kept', ['release']);
    const browser = await administrator();
    person('kept', ['nobody']);
    const { result } = await tested(browser, 'main');
    expect(result).toMatchObject({ subject: 'kept', problem: { code: 'sso.no-role' }, roles: [], matched: [] });
    expect((await me(service, token)).status).toBe(200);
    provider.is({ claims: { iss: 'https://elsewhere.example' } });
    expect((await tested(browser, 'main')).result).toMatchObject({
      subject: null,
      problem: { code: 'sso.refused', reason: expect.stringContaining('iss') as string },
    });
  });

  it('returns its result only to the person who started it, and its ticket opens no session', async () => {
    person('seen', ['release']);
    const browser = await administrator();
    const started = await post(browser, '/api/settings/identity-providers/test/main/sign-in', {});
    const { redirect } = (await started.json()) as { redirect: string };
    const ticket =
      /#test=(\w+)$/.exec((await arrive(service, 'main', { browser, begin: redirect })).location)?.[1] ?? '';
    expect((await post(browser, '/api/auth/sso/tokens', { ticket })).status).toBe(401);
    const complete = await browser.request(`${service.url}/api/auth/sso/complete?ticket=${ticket}`);
    expect(complete.status).toBe(401);
    const other = await administrator();
    expect((await post(other, '/api/settings/identity-providers/test-results', { ticket })).status).toBe(401);
  });

  it('requires the permission to change settings', async () => {
    const key = await signedIn('operator', ['release']);
    const answer = await service.call('POST', '/api/settings/identity-providers/test/main/sign-in', { key, body: {} });
    expect(answer.status).toBe(403);
  });
});
