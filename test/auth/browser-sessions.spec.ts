import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, openPage, startChromium } from '../support/browser.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { atKnownAddress, type Person, register } from './people.js';

let stage: Stage;
let service: Service;
let other: Service;

beforeAll(async () => {
  stage = await openStage();
  service = await stage.start({ role: 'api', settings: await atKnownAddress() });
  other = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

/** Headers sent by the service's own pages. */
const OWN = { 'x-csrf-protection': '1', 'sec-fetch-site': 'same-origin' };

const open = ({ email, password }: Person, headers: Record<string, string> = OWN): Promise<Answer> =>
  service.call('POST', '/api/auth/session', { body: { email, password }, headers });

const cookieIn = (answer: Answer): string => (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';

const withCookie = (
  cookie: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: object,
) => service.call(method, path, { headers: { cookie, ...headers }, body });

const meWith = (cookie: string, where = service): Promise<Answer> =>
  where.call('GET', '/api/auth/me', { headers: { cookie } });

describe('a session cookie', () => {
  it('is inaccessible to scripts and other sites, and comes without a token', async () => {
    const person = await register(service);
    const answer = await open(person);
    expect(answer.status).toBe(201);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^sealwright-session=[0-9a-f-]{36}\.sw_browser_[0-9a-f]{64}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    expect(answer.body).toMatchObject({ kind: 'user', name: person.email });
    expect(JSON.stringify(answer.body)).not.toContain('sw_browser_');
    expect((await meWith(cookieIn(answer))).body.name).toBe(person.email);
  });

  it('requires https and this host if the service is reached that way', async () => {
    const secure = await stage.start({ role: 'api', settings: { SVC_PUBLIC_URL: 'https://sign.example.org' } });
    const { email, password } = await register(service);
    const answer = await secure.call('POST', '/api/auth/session', { body: { email, password }, headers: OWN });
    expect(answer.headers.getSetCookie()[0]).toMatch(/^__Host-sealwright-session=.*; SameSite=Strict; Secure$/);
    await secure.kill();
  });

  it('is stored as a hash', async () => {
    const cookie = cookieIn(await open(await register(service)));
    const secret = cookie.split('.')[1] ?? '';
    const rows = await stage.sql<{ text: string }>(`SELECT s::text AS text FROM auth_session s`);
    expect(rows.some(({ text }) => text.includes(secret))).toBe(false);
    expect(service.log()).not.toContain(secret);
  });

  it('changes at every sign-in, and earlier sessions of the same browser remain', async () => {
    const person = await register(service);
    const [first, second] = [cookieIn(await open(person)), cookieIn(await open(person))];
    expect(first).not.toBe(second);
    const answer = await service.call('POST', '/api/auth/session', {
      body: { email: person.email, password: person.password },
      headers: { ...OWN, cookie: first },
    });
    expect(cookieIn(answer)).not.toBe(first);
  });

  it('gets a new secret at step-up, and the old one is rejected', async () => {
    const person = await register(service);
    const before = cookieIn(await open(person));
    const body = { password: person.password };
    const answer = await withCookie(before, 'POST', '/api/auth/step-up', OWN, body);
    expect(answer.status).toBe(204);
    assertProblem(await meWith(before), { status: 401, code: 'auth.bad-session' });
    expect((await meWith(cookieIn(answer))).status).toBe(200);
  });

  it('is invalid everywhere within five seconds after sign-out or termination', async () => {
    const person = await register(service);
    const [one, two] = [cookieIn(await open(person)), cookieIn(await open(person))];
    expect((await meWith(one, other)).status).toBe(200);
    const out = await withCookie(one, 'POST', '/api/auth/logout', OWN);
    expect(out.headers.getSetCookie()[0]).toMatch(/^sealwright-session=; Max-Age=0;/);
    await service.call('DELETE', '/api/auth/sessions', { key: person.accessToken });
    await until('both are over', 5, async () => {
      const answers = await Promise.all([one, two].flatMap((cookie) => [meWith(cookie), meWith(cookie, other)]));
      return answers.every(({ status }) => status === 401);
    });
  });

  it('expires when idle, and after its maximum lifetime', async () => {
    const person = await register(service);
    const [idle, old] = [cookieIn(await open(person)), cookieIn(await open(person))];
    const idOf = (cookie: string) => /=([^.]+)/.exec(cookie)?.[1];
    const usedBefore = (minutes: number) =>
      stage.change(`UPDATE auth_session SET last_used_at = now() - make_interval(mins => $2) WHERE id = $1`, [
        idOf(idle),
        minutes,
      ]);
    await usedBefore(29);
    expect((await meWith(idle, other)).status).toBe(200);
    // Either process may still record a recent use of the session, which overwrites the simulated time.
    await until('it is over', 30, async () => {
      await usedBefore(31);
      return (await meWith(idle, other)).status === 401;
    });
    await stage.change(`UPDATE auth_session SET expires_at = now() - interval '1 s' WHERE id = $1`, [idOf(old)]);
    expect((await meWith(old, other)).status).toBe(401);
  });

  it('is not accepted as a token, nor a token as a cookie', async () => {
    const person = await register(service);
    const value = cookieIn(await open(person)).split('=')[1] ?? '';
    expect((await service.call('GET', '/api/auth/me', { key: value })).status).toBe(401);
    expect((await service.call('GET', '/api/auth/me', { key: value.split('.')[1] ?? '' })).status).toBe(401);
    expect((await meWith(`sealwright-session=${person.accessToken}`)).status).toBe(401);
    const id = (await service.call('GET', '/api/auth/me', { key: person.accessToken })).body.session;
    expect((await meWith(`sealwright-session=${id}.`)).status).toBe(401);
    expect((await meWith(`sealwright-session=${id}.sw_browser_${'0'.repeat(64)}`)).status).toBe(401);
  });

  it('is ignored if a header carries a credential', async () => {
    const cookie = cookieIn(await open(await register(service)));
    assertProblem(await withCookie(cookie, 'GET', '/api/auth/me', { authorization: 'Bearer nonsense' }), {
      status: 401,
      code: 'auth.bad-token',
    });
  });
});

describe('a cross-site request (CSRF)', () => {
  it.each<[string, Record<string, string>]>([
    ['without the header', { 'sec-fetch-site': 'same-origin' }],
    ['from another site', { ...OWN, 'sec-fetch-site': 'cross-site' }],
    ['from another origin of the same site', { ...OWN, 'sec-fetch-site': 'same-site' }],
    ['from nowhere', { ...OWN, 'sec-fetch-site': 'none' }],
    ['without a word of the browser for who asks', { 'x-csrf-protection': '1' }],
    [
      'with another Origin, from a browser that tells no more',
      { 'x-csrf-protection': '1', origin: 'https://evil.example' },
    ],
    ['with the Origin null', { 'x-csrf-protection': '1', origin: 'null' }],
  ])('is rejected %s', async (_, headers) => {
    const person = await register(service);
    const cookie = cookieIn(await open(person));
    for (const [method, path] of [
      ['POST', '/api/auth/logout'],
      ['DELETE', '/api/auth/sessions'],
      ['PATCH', `/api/settings/users/${person.email}`],
      ['PUT', '/api/settings/identity-providers/oidc/x'],
    ] as const) {
      assertProblem(await withCookie(cookie, method, path, headers), { status: 403, code: 'auth.cross-site' });
    }
    assertProblem(await open(person, headers), { status: 403, code: 'auth.cross-site' });
    expect((await meWith(cookie)).status).toBe(200);
  });

  it('is accepted from our own Origin if the browser sends no Fetch Metadata', async () => {
    const cookie = cookieIn(await open(await register(service)));
    const headers = { 'x-csrf-protection': '1', origin: service.url };
    expect((await withCookie(cookie, 'POST', '/api/auth/logout', headers)).status).toBe(204);
  });
});

describe.skipIf(CHROMIUM === undefined)('in Chromium', () => {
  let browser: Browser;
  let elsewhere: Server;

  beforeAll(async () => {
    browser = await startChromium();
    elsewhere = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>elsewhere</title>');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await browser?.close();
    elsewhere?.close();
  });

  const signIn = ({ page }: { page: Page }, { email, password }: Person) =>
    page.evaluate(
      async (body) => {
        const headers = { 'content-type': 'application/json', 'x-csrf-protection': '1' };
        return (await fetch('/api/auth/session', { method: 'POST', headers, body: JSON.stringify(body) })).status;
      },
      { email, password },
    );

  /** Sends a cross-site request that needs no CORS preflight. @returns the status that the service logged, because the page cannot read the response */
  async function attack(page: Page, host: string): Promise<string> {
    await page.goto(`http://${host}:${(elsewhere.address() as AddressInfo).port}/`);
    const before = service.log().length;
    const init = `{ method: 'POST', mode: 'no-cors', credentials: 'include' }`;
    const seen = await page.evaluate(
      `fetch('${service.url}/api/auth/logout', ${init}).then(() => 'read', () => 'kept')`,
    );
    expect(seen).toBe('kept');
    // The service's log output arrives through a pipe, shortly after the response.
    return until(
      'the line of the call',
      30,
      async () => /POST \/api\/auth\/logout (\d+)/.exec(service.log().slice(before))?.[1],
    );
  }

  const stillIn = (page: Page) =>
    page.goto(`${service.url}/device`).then(() => page.evaluate(async () => (await fetch('/api/auth/me')).status));

  it('a page signs in, continues without seeing the secret, and signs out', async () => {
    const opened = await openPage(browser, `${service.url}/device`);
    const person = await register(service);
    expect(await signIn(opened, person)).toBe(201);
    expect(await opened.page.evaluate('document.cookie')).toBe('');
    expect(await stillIn(opened.page)).toBe(200);
    const out = await opened.page.evaluate(
      async () => (await fetch('/api/auth/logout', { method: 'POST', headers: { 'x-csrf-protection': '1' } })).status,
    );
    expect(out).toBe(204);
    expect(await opened.context.cookies()).toEqual([]);
    opened.assertNoFaults();
    await opened.context.close();
  });

  it('another site does not send the cookie', async () => {
    const opened = await openPage(browser, `${service.url}/device`);
    await signIn(opened, await register(service));
    expect(await attack(opened.page, 'localhost')).toBe('401');
    expect(await stillIn(opened.page)).toBe(200);
    await opened.context.close();
  });

  it('another port of the same host sends the cookie, but is rejected', async () => {
    const opened = await openPage(browser, `${service.url}/device`);
    await signIn(opened, await register(service));
    expect(await attack(opened.page, '127.0.0.1')).toBe('403');
    expect(await stillIn(opened.page)).toBe(200);
    await opened.context.close();
  });
});
