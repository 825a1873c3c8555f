import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT, OpenIdPeer } from '../fakes/openid-provider.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { atKnownAddress, login, me, PEERS_HERE, register } from './people.js';

const one = new OpenIdPeer();
const two = new OpenIdPeer();
let stage: Stage;
let service: Service;
let apiKey: string;

const RULES = [
  { claim: 'groups', op: 'equals', value: 'release', roles: ['operator'] },
  { claim: 'groups', op: 'prefix', value: 'audit-', roles: ['auditor'] },
];

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api', settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
  const callback = `${service.url}/api/auth/oidc/callback`;
  for (const [name, peer] of [
    ['one', one],
    ['two', two],
  ] as const) {
    await peer.start(`${callback}/${name}`);
    expect((await put(name, peer)).status).toBe(200);
  }
});
afterAll(async () => {
  await stage.close();
  await one.stop();
  await two.stop();
});

function put(name: string, peer: OpenIdPeer, change: object = {}) {
  const body = { label: `Sign in with ${name}`, enabled: true, rules: RULES, issuer: peer.issuer, clientId: CLIENT.id };
  const scopes = ['openid', 'profile', 'email'];
  return service.call('PUT', `/api/settings/identity-providers/oidc/${name}`, {
    key: apiKey,
    body: { ...body, clientSecret: CLIENT.secret, scopes, ...change },
  });
}

const begin = (name: string, returnTo = '/console') =>
  `${service.url}/api/auth/oidc/login?provider=${name}&returnTo=${encodeURIComponent(returnTo)}`;
const isOurs = (url: string) => url.startsWith(`${service.url}/api/auth/oidc/callback`);

/** Completes the provider's pages up to the redirect to the service's callback URL, without calling that URL. */
async function throughPages(browser: Browser, url: string, account: string): Promise<string> {
  let place = (await browser.follow(url)).url;
  for (let step = 0; step < 3 && !isOurs(place); step += 1) {
    const html = await (await browser.request(place)).text();
    const action = /action="([^"]+)"/.exec(html)?.[1] ?? '';
    const prompt = /name="prompt" value="([^"]+)"/.exec(html)?.[1] ?? 'login';
    const posted = await browser.postForm(new URL(action, place).href, { prompt, login: account, password: 'any' });
    place = (await browser.follow(new URL(posted.headers.get('location') ?? '', place).href, isOurs)).url;
  }
  return place;
}

const atCallback = (browser: Browser, name: string, account: string) => throughPages(browser, begin(name), account);

const ticketIn = (response: Response) => /#ticket=(\w+)$/.exec(response.headers.get('location') ?? '')?.[1] ?? '';

type Body = Record<string, string>;
const bodyOf = async (response: Response) => (await response.json()) as Body;

async function redeem(browser: Browser, ticket: string) {
  const response = await browser.request(`${service.url}/api/auth/sso/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ticket }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

async function signIn(name: string, account: string, browser = new Browser()) {
  const arrived = await browser.request(await atCallback(browser, name, account));
  return redeem(browser, ticketIn(arrived));
}

function newAccount(peer: OpenIdPeer, groups: string[], email?: string): { sub: string; email: string } {
  const sub = `user-${randomBytes(4).toString('hex')}`;
  const address = email ?? `${sub}@example.org`;
  peer.accounts.set(sub, { email: address, groups });
  return { sub, email: address };
}

describe('sign-in through oidc-provider', () => {
  it('creates an account on first sign-in, with roles derived from groups', async () => {
    const { sub, email } = newAccount(one, ['staff', 'release']);
    const browser = new Browser();
    const arrived = await browser.request(await atCallback(browser, 'one', sub));
    expect(arrived.status).toBe(303);
    expect(arrived.headers.get('location')).toMatch(/^\/console#ticket=/);
    const { status, body } = await redeem(browser, ticketIn(arrived));
    expect(status).toBe(200);
    const who = await me(service, body['access_token'] ?? '');
    expect(who.body).toMatchObject({ kind: 'user', name: email });
    expect(who.body.scopes).toContain('sign:digest');
    expect(who.body.scopes).not.toContain('admin:*');
  });

  it('removes roles that the groups no longer give', async () => {
    const { sub, email } = newAccount(one, ['release']);
    const first = (await signIn('one', sub)).body['access_token'] ?? '';
    one.accounts.set(sub, { email, groups: ['audit-eu'] });
    const second = (await signIn('one', sub)).body['access_token'] ?? '';
    expect((await me(service, second)).body.scopes).toContain('audit:read');
    await until(
      'rights of the first session go too',
      5,
      async () => !(await me(service, first)).body.scopes.includes('sign:digest'),
    );
  });

  it('is refused if no rule matches', async () => {
    const { sub } = newAccount(one, ['strangers']);
    const browser = new Browser();
    const arrived = await browser.request(await atCallback(browser, 'one', sub));
    expect({ status: arrived.status, body: await bodyOf(arrived) }).toMatchObject({
      status: 403,
      body: { code: 'sso.no-role' },
    });
  });

  it('identifies people by provider and sub: the same sub at another provider is another person', async () => {
    const { sub } = newAccount(one, ['release']);
    two.accounts.set(sub, { email: `other-${sub}@example.org`, groups: ['release'] });
    const [first, second] = [await signIn('one', sub), await signIn('two', sub)];
    const ids = await Promise.all(
      [first, second].map(async ({ body }) => (await me(service, body['access_token'] ?? '')).body.id),
    );
    expect(new Set(ids).size).toBe(2);
  });

  it('never takes over an account by email address', async () => {
    const person = await register(service);
    const { sub } = newAccount(one, ['release'], person.email);
    const browser = new Browser();
    const arrived = await browser.request(await atCallback(browser, 'one', sub));
    expect((await bodyOf(arrived)).code).toBe('sso.address-taken');
    expect((await login(service, person.email, person.password)).status).toBe(200);
  });

  it('does not create a guessable password', async () => {
    const { sub, email } = newAccount(one, ['release']);
    await signIn('one', sub);
    for (const password of ['', 'null', 'undefined']) {
      expect((await login(service, email, password || ' ')).status).toBe(401);
    }
  });

  it('ends everywhere within five seconds once the provider is disabled', async () => {
    const { sub } = newAccount(two, ['release']);
    const token = (await signIn('two', sub)).body['access_token'] ?? '';
    expect((await me(service, token)).status).toBe(200);
    await put('two', two, { enabled: false });
    await until('the session is over', 5, async () => (await me(service, token)).status === 401);
    assertProblem(await service.call('GET', '/api/auth/oidc/login?provider=two'), {
      status: 404,
      code: 'identity-provider.missing',
    });
    await put('two', two);
  });
});

describe('an OIDC response is rejected', () => {
  async function refused(browser: Browser, url: string, code: string): Promise<void> {
    const answer = await browser.request(url);
    expect({ status: answer.status, code: (await bodyOf(answer)).code }).toEqual({ status: 401, code });
  }

  it('a second time, even ten concurrently', async () => {
    const browser = new Browser();
    const url = await atCallback(browser, 'one', newAccount(one, ['release']).sub);
    const answers = await Promise.all(Array.from({ length: 10 }, () => browser.request(url)));
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    await refused(browser, url, 'sso.unknown');
  });

  it('in a different browser than the one that started, so that nobody can be signed in as somebody else', async () => {
    const url = await atCallback(new Browser(), 'one', newAccount(one, ['release']).sub);
    await refused(new Browser(), url, 'sso.unknown');
    const victim = new Browser();
    await victim.request(begin('one'));
    await refused(victim, url, 'sso.unknown');
  });

  it('with an unknown state, and with the state of another attempt', async () => {
    const browser = new Browser();
    const url = new URL(await atCallback(browser, 'one', newAccount(one, ['release']).sub));
    const started = await browser.request(begin('one'));
    url.searchParams.set('state', new URL(started.headers.get('location') ?? '').searchParams.get('state') ?? '');
    await refused(browser, url.href, 'sso.refused');
    url.searchParams.set('state', 'nonsense');
    await refused(browser, url.href, 'sso.unknown');
  });

  it('with the iss of another provider (mix-up, RFC 9207)', async () => {
    const browser = new Browser();
    const url = new URL(await atCallback(browser, 'one', newAccount(one, ['release']).sub));
    expect(url.searchParams.get('iss')).toBe(one.issuer);
    url.searchParams.set('iss', two.issuer);
    await refused(browser, url.href, 'sso.refused');
  });

  it('with a wrong nonce or a wrong PKCE verifier', async () => {
    for (const name of ['nonce', 'code_challenge']) {
      const browser = new Browser();
      const started = await browser.request(begin('one'));
      const url = new URL(started.headers.get('location') ?? '');
      url.searchParams.set(name, randomBytes(32).toString('base64url'));
      const { sub } = newAccount(one, ['release']);
      const callback = await throughPages(browser, url.href, sub);
      await refused(browser, callback, 'sso.refused');
    }
  });
});

describe('a sign-in ticket', () => {
  it('is valid once, in the browser that started', async () => {
    const browser = new Browser();
    const arrived = await browser.request(await atCallback(browser, 'one', newAccount(one, ['release']).sub));
    const ticket = ticketIn(arrived);
    const cookie = new Browser();
    expect((await redeem(cookie, ticket)).body.code).toBe('sso.unknown');
    // A ticket presented by another browser is invalidated.
    expect((await redeem(browser, ticket)).body.code).toBe('sso.unknown');
    const again = new Browser();
    const second = ticketIn(await again.request(await atCallback(again, 'one', newAccount(one, ['release']).sub)));
    const answers = await Promise.all(Array.from({ length: 5 }, () => redeem(again, second)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });
});

describe('settings of providers', () => {
  it.each([
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    '\\\\evil',
    '/.//evil.example',
    '/x/..//evil.example',
    '/%2e//evil.example',
    // These paths redirect to a provider, and browsers preserve the fragment across redirects.
    '/api/auth/oidc/login?provider=two',
    '/api/%61uth/saml/login',
    '/oauth/authorize',
  ])('reject the return path %j', async (returnTo) => {
    const answer = await fetch(begin('one', returnTo), { redirect: 'manual' });
    expect(answer.status).toBe(400);
    expect((await bodyOf(answer)).code).toBe('sso.return-to');
  });

  it('redirect with an empty fragment, so that browsers do not forward the fragment of the page', async () => {
    const answer = await fetch(begin('one'), { redirect: 'manual' });
    expect(answer.headers.get('location')).toMatch(/^http.*#$/);
  });

  it.each(['cross-site', 'same-site'])('start no sign-in from a page of another site (%s)', async (site) => {
    const answer = await fetch(begin('one'), { redirect: 'manual', headers: { 'sec-fetch-site': site } });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console']);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  it('never return the client secret, and do not store it in clear text', async () => {
    const list = await service.call('GET', '/api/settings/identity-providers', { key: apiKey });
    expect(JSON.stringify(list.body)).not.toContain(CLIENT.secret);
    const rows = await stage.sql<{ text: string }>(
      `SELECT p::text || encode(secret, 'escape') AS text FROM identity_provider p`,
    );
    for (const { text } of rows) expect(text).not.toContain(CLIENT.secret);
    expect(service.log()).not.toContain(CLIENT.secret);
  });

  it('cannot change the issuer that identifies people, which would also send the secret elsewhere', async () => {
    assertProblem(await put('one', two), { status: 409, code: 'identity-provider.issuer' });
    const kept = await put('one', one, { clientSecret: undefined });
    expect(kept.body.settings.issuer).toBe(one.issuer);
  });

  it('are updated and deleted one at a time', async () => {
    const name = 'busy';
    expect((await put(name, one)).status).toBe(200);
    const removed = service.call('DELETE', `/api/settings/identity-providers/${name}`, { key: apiKey });
    const answers = await Promise.all([
      removed,
      ...Array.from({ length: 20 }, (_, i) => put(name, one, { label: `${i}` })),
    ]);
    expect(answers.filter(({ status }) => ![200, 204, 409].includes(status))).toEqual([]);
    await service.call('DELETE', `/api/settings/identity-providers/${name}`, { key: apiKey });
  });

  it('reject nested lists as rules, and remain readable', async () => {
    const refused = { status: 400, code: 'request.invalid', pointer: '/rules/0' };
    assertProblem(await put('one', one, { rules: [[]] }), refused);
    expect((await service.call('GET', '/api/settings/identity-providers', { key: apiKey })).status).toBe(200);
  });

  it('cannot grant roles that the editor does not hold', async () => {
    const { key } = await newApiKey(service, apiKey, ['settings:write']);
    const answer = await service.call('PUT', '/api/settings/identity-providers/oidc/three', {
      key,
      body: { label: 'x', enabled: true, rules: [], defaultRoles: ['admin'], issuer: one.issuer, clientId: 'x' },
    });
    assertProblem(answer, { status: 403, code: 'user.beyond-caller' });
  });
});
