import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT, OpenIdPeer } from '../fakes/openid-provider.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { deviceGrant, makeClient, postForm } from './oauth-calls.js';
import { atKnownAddress, idOf, me, PEERS_HERE } from './people.js';

const idp = new OpenIdPeer();
let stage: Stage;
let service: Service;
let other: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api', settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
  other = await stage.start({ role: 'api' });
  await idp.start(`${service.url}/api/auth/oidc/callback/main`);
  const rules = [{ claim: 'groups', op: 'equals', value: 'release', roles: ['operator'] }];
  const body = {
    label: 'x',
    enabled: true,
    rules,
    issuer: idp.issuer,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
  };
  await service.call('PUT', '/api/settings/identity-providers/oidc/main', { key: apiKey, body });
  for (const name of ['ada', 'bob']) idp.accounts.set(name, { email: `${name}@oidc.example`, groups: ['release'] });
});
afterAll(async () => {
  await stage.close();
  await idp.stop();
});

interface SignedIn {
  readonly browser: Browser;
  readonly token: string;
  /** The provider's session ID. */
  readonly sid: string;
}

/** Signs in at the provider and returns the callback URL with the response, which the browser does not open yet. */
async function responseOf(browser: Browser, account: string): Promise<string> {
  const isOurs = (url: string) => url.startsWith(`${service.url}/api/auth/oidc/callback`);
  let place = (await browser.follow(`${service.url}/api/auth/oidc/login?provider=main`)).url;
  while (!isOurs(place)) {
    const html = await (await browser.request(place)).text();
    const prompt = /name="prompt" value="([^"]+)"/.exec(html)?.[1] ?? '';
    const action = new URL(/action="([^"]+)"/.exec(html)?.[1] ?? '', place).href;
    const posted = await browser.postForm(action, { prompt, login: account, password: 'any' });
    place = (await browser.follow(new URL(posted.headers.get('location') ?? '', place).href, isOurs)).url;
  }
  return place;
}

/** Signs in at the provider and returns the ticket. */
async function ticketOf(browser: Browser, account: string): Promise<string> {
  return ticketFor(browser, await responseOf(browser, account));
}

/** Sends a response to the service and returns the ticket, or an empty string if the response is refused. */
async function ticketFor(browser: Browser, response: string): Promise<string> {
  const arrived = await browser.request(response);
  return /#ticket=(\w+)$/.exec(arrived.headers.get('location') ?? '')?.[1] ?? '';
}

function tokensFor(browser: Browser, ticket: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify({ ticket }) };
  return browser.request(`${service.url}/api/auth/sso/tokens`, init);
}

async function signIn(account: string): Promise<SignedIn> {
  const browser = new Browser();
  const answer = await tokensFor(browser, await ticketOf(browser, account));
  const { access_token: token = '' } = (await answer.json()) as Record<string, string>;
  const { session } = (await me(service, token)).body;
  const [row] = await stage.sql<{ sid: string }>(`SELECT external_session AS sid FROM auth_session WHERE id = $1`, [
    session,
  ]);
  return { browser, token, sid: row?.sid ?? '' };
}

/** Confirms the sign-out on the provider's page. @returns the redirect URL */
async function signOutAt(browser: Browser, url: string): Promise<string> {
  const html = await (await browser.request(url)).text();
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const posted = await browser.postForm(`${idp.issuer}/session/end/confirm`, { xsrf, logout: 'yes' });
  return posted.headers.get('location') ?? '';
}

const statusOf = async ({ token }: SignedIn, where = service) => (await me(where, token)).status;

async function overEverywhere(signedIn: SignedIn): Promise<void> {
  await until('the session is over', 5, async () => {
    return (await statusOf(signedIn)) === 401 && (await statusOf(signedIn, other)) === 401;
  });
}

const post = (token: string): Promise<Answer> =>
  postForm(service, '/api/auth/oidc/backchannel-logout', { logout_token: token });

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} };
const now = () => Math.floor(Date.now() / 1000);
const claims = (change: JWTPayload = {}): JWTPayload => ({
  iss: idp.issuer,
  aud: CLIENT.id,
  iat: now(),
  exp: now() + 120,
  jti: randomUUID(),
  events: EVENTS,
  ...change,
});

describe('single logout', () => {
  it('at the provider ends that session only', async () => {
    const [gone, stays] = [await signIn('ada'), await signIn('ada')];
    expect(gone.sid).not.toBe('');
    expect(await statusOf(gone, other)).toBe(200);
    await signOutAt(gone.browser, `${idp.issuer}/session/end`);
    await overEverywhere(gone);
    expect(await statusOf(stays)).toBe(200);
  });

  it('started here redirects to the provider, which recognizes the person, and back', async () => {
    const person = await signIn('ada');
    const { status, body } = await service.call('POST', '/api/auth/sso/logout', { key: person.token });
    expect(status).toBe(200);
    const place = new URL(body.redirect);
    expect(place.origin + place.pathname).toBe(`${idp.issuer}/session/end`);
    await overEverywhere(person);
    const back = await signOutAt(person.browser, body.redirect);
    expect(back).toBe(`${service.url}/`);
    // The provider requires the password again.
    const { response } = await person.browser.follow(`${service.url}/api/auth/oidc/login`);
    expect(await response.text()).toContain('name="password"');
  });

  it('keeps the ID token sealed until then', async () => {
    const person = await signIn('ada');
    const { body } = await service.call('POST', '/api/auth/sso/logout', { key: person.token });
    const token = new URL(body.redirect).searchParams.get('id_token_hint') ?? '';
    expect(token.split('.')).toHaveLength(3);
    const rows = await stage.sql<{ text: string }>(
      `SELECT s::text || encode(id_token, 'escape') AS text FROM auth_session s`,
    );
    for (const { text } of rows) expect(text).not.toContain(token.split('.')[1]);
  });

  it('of a person ends all their sessions of this provider', async () => {
    const [one, two, stays] = [await signIn('ada'), await signIn('ada'), await signIn('bob')];
    expect((await post(await idp.sign(claims({ sub: 'ada' })))).status).toBe(200);
    await overEverywhere(one);
    await overEverywhere(two);
    expect(await statusOf(stays)).toBe(200);
  });

  it('ends what could become a session: a device code approved in it, and a ticket', async () => {
    const person = await signIn('ada');
    const client = await makeClient(service, apiKey, ['sign:read'], 'public');
    const { body: device } = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
    await service.call('POST', `/api/auth/device/${device.user_code}/approve`, { key: person.token });
    const browser = new Browser();
    const ticket = await ticketOf(browser, 'ada');
    expect((await post(await idp.sign(claims({ sub: 'ada' })))).status).toBe(200);
    const redeemed = await postForm(service, '/oauth/token', deviceGrant(client, device.device_code));
    expect(redeemed.body.error).toBe('access_denied');
    expect((await tokensFor(browser, ticket)).status).toBe(401);
  });

  it('stops a sign-in whose response was held back, but no later one', async () => {
    await signIn('ada');
    const browser = new Browser();
    const response = await responseOf(browser, 'ada');
    expect((await post(await idp.sign(claims({ sub: 'ada', iat: now() + 5 })))).status).toBe(200);
    const refused = await browser.request(response);
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 401,
      body: { code: 'auth.changed-meanwhile' },
    });
    expect(await statusOf(await signIn('ada'))).toBe(200);
  });

  it('ends a session whose ticket was exchanged after the logout', async () => {
    const browser = new Browser();
    const ticket = await ticketOf(browser, 'ada');
    await new Promise((resolve) => setTimeout(resolve, 2100));
    // A logout token also ends sessions that were created within the second in which the token was issued.
    const token = await idp.sign(claims({ sub: 'ada', iat: now() - 2 }));
    const answer = await tokensFor(browser, ticket);
    const { access_token: access = '' } = (await answer.json()) as Record<string, string>;
    expect((await me(service, access)).status).toBe(200);
    expect((await post(token)).status).toBe(200);
    expect((await me(service, access)).status).toBe(401);
  });

  it('reaches both of two providers that are clients of one issuer', async () => {
    const person = await signIn('bob');
    const body = { label: 'x', enabled: true, rules: [], issuer: idp.issuer, clientId: 'first-in-the-list' };
    // The name of this provider sorts before `main`.
    const second = '/api/settings/identity-providers/oidc/aaa';
    const put = await service.call('PUT', second, { key: apiKey, body: { ...body, clientAuthentication: 'none' } });
    expect(put.status).toBe(200);
    await stage.change(
      `UPDATE identity_provider SET id = '00000000-0000-7000-8000-000000000000' WHERE name = 'aaa'`,
      [],
    );
    expect((await post(await idp.sign(claims({ sid: person.sid })))).status).toBe(200);
    await overEverywhere(person);
    await service.call('DELETE', '/api/settings/identity-providers/aaa', { key: apiKey });
  });

  it('does not end a later session when replayed', async () => {
    const token = await idp.sign(claims({ sub: 'bob', iat: now() - 60 }));
    const later = await signIn('bob');
    expect((await post(token)).status).toBe(200);
    expect(await statusOf(later, other)).toBe(200);
  });

  it('also works through the browser', async () => {
    const person = await signIn('bob');
    const tell = (iss: string, sid: string) =>
      service.call('GET', `/api/auth/oidc/frontchannel-logout?${new URLSearchParams({ iss, sid }).toString()}`);
    await tell('https://elsewhere.example', person.sid);
    await tell(idp.issuer, randomUUID());
    expect(await statusOf(person, other)).toBe(200);
    expect((await tell(idp.issuer, person.sid)).status).toBe(200);
    await overEverywhere(person);
  });
});

describe('disabling a person', () => {
  const change = async (id: string, disabled: boolean) => {
    const answer = await service.call('PATCH', `/api/settings/users/${id}`, { key: apiKey, body: { disabled } });
    expect(answer.status).toBe(200);
  };

  it('stops a sign-in whose response was held back, even if the person is enabled again', async () => {
    await signIn('ada');
    const id = await idOf(stage, 'ada@oidc.example');
    const browser = new Browser();
    const response = await responseOf(browser, 'ada');
    await change(id, true);
    await change(id, false);
    expect(await ticketFor(browser, response)).toBe('');
    expect(await statusOf(await signIn('ada'))).toBe(200);
  });

  it('stops a sign-in whose response is being handled', async () => {
    idp.accounts.set('ada', { email: 'ada@oidc.example', groups: ['release', 'more'] });
    const id = await idOf(stage, 'ada@oidc.example');
    const browser = new Browser();
    const response = await responseOf(browser, 'ada');
    const holder = new Client({ connectionString: stage.databaseUrl });
    await holder.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM external_identity WHERE user_id = $1 FOR UPDATE', [id]);
      const ticket = ticketFor(browser, response);
      await until('the response waits', 5, () => isWaiting('external_identity'));
      await change(id, true);
      await change(id, false);
      await holder.query('COMMIT');
      expect(await ticket).not.toBe('');
      expect((await tokensFor(browser, await ticket)).status).toBe(401);
    } finally {
      await holder.end();
    }
  });
});

/** Reports whether a statement about this table is waiting for a lock. */
async function isWaiting(table: string): Promise<boolean> {
  const found = await stage.sql(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`,
    [table],
  );
  return found.length > 0;
}

describe('a logout token', () => {
  const wrong: [string, (sid: string) => Promise<string>][] = [
    [
      'of another key',
      async (sid) =>
        new SignJWT(claims({ sid }))
          .setProtectedHeader({ alg: 'RS256', kid: 'one' })
          .sign((await generateKeyPair('RS256')).privateKey),
    ],
    ['without a signature', (sid) => Promise.resolve(new UnsecuredJWT(claims({ sid })).encode())],
    [
      'signed with the client secret',
      (sid) => new SignJWT(claims({ sid })).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(CLIENT.secret)),
    ],
    ['for another client', (sid) => idp.sign(claims({ sid, aud: 'another' }))],
    ['of another issuer', (sid) => idp.sign(claims({ sid, iss: 'https://elsewhere.example' }))],
    ['that is old', (sid) => idp.sign(claims({ sid, iat: now() - 3600, exp: now() + 60 }))],
    ['that is over', (sid) => idp.sign(claims({ sid, exp: now() - 60 }))],
    ['without the event: an ID token', (sid) => idp.sign(claims({ sid, events: undefined }))],
    ['with a nonce', (sid) => idp.sign(claims({ sid, nonce: 'n' }))],
    ['of another type', (sid) => idp.sign(claims({ sid }), 'at+jwt')],
    ['that names nobody', () => idp.sign(claims())],
    ['that names a session by a number', () => idp.sign(claims({ sid: 5 }))],
    ['without jti', (sid) => idp.sign(claims({ sid, jti: undefined }))],
    ['that is none', () => Promise.resolve('nonsense')],
  ];

  it('is rejected for every kind of invalid content', async () => {
    const person = await signIn('ada');
    for (const [what, make] of wrong) {
      const answer = await post(await make(person.sid));
      expect([what, answer.status, answer.body.code]).toEqual([what, 400, 'sso.logout-token']);
    }
    assertProblem(await service.call('POST', '/api/auth/oidc/backchannel-logout', { body: {} }), {
      status: 415,
      code: 'request.media-type',
    });
    expect(await statusOf(person, other)).toBe(200);
    expect((await post(await idp.sign(claims({ sid: person.sid })))).status).toBe(200);
    await overEverywhere(person);
  });
});

it('limits the valid logout tokens of a provider that end nothing', async () => {
  await stage.change('DELETE FROM attempt_count');
  const useless = async () => (await post(await idp.sign(claims({ sub: 'nobody' })))).status;
  expect(await useless()).toBe(200);
  await stage.change('UPDATE attempt_count SET attempts = 1010');
  expect(await useless()).toBe(200);
  expect(await useless()).toBe(429);
});

it('limits the messages of a network that end nothing, without a session or a logout token', async () => {
  const guess = () => {
    const query = new URLSearchParams({ iss: idp.issuer, sid: randomUUID() }).toString();
    return service.call('GET', `/api/auth/oidc/frontchannel-logout?${query}`);
  };
  const answers = await Promise.all(Array.from({ length: 120 }, guess));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
  const forged = await new SignJWT(claims({ sub: 'ada' }))
    .setProtectedHeader({ alg: 'RS256', kid: 'unknown' })
    .sign((await generateKeyPair('RS256')).privateKey);
  // The rate limiter's first delay is one second, so some of the messages may be processed after the delay.
  const refusals = await Promise.all(Array.from({ length: 10 }, () => post(forged)));
  const limited = refusals.filter(({ status }) => status === 429);
  expect(limited.length).toBeGreaterThan(5);
  for (const refusal of limited) assertProblem(refusal, { status: 429, code: 'auth.too-many-attempts' });
});
