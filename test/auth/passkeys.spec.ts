import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/lib/ports.mjs';
import { CHROMIUM, openPage, startChromium } from '../support/browser.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { idOf, login, type Person, register } from './people.js';

/** Port of the service, which runs on localhost because passkeys require a domain name instead of an IP address. */
const PORT = await freePort();
const SITE = `http://localhost:${PORT}`;

let stage: Stage;
let service: Service;
let browser: Browser;
let elsewhere: Server;

describe.skipIf(CHROMIUM === undefined)("passkeys of Chromium's virtual authenticator", () => {
  beforeAll(async () => {
    stage = await openStage();
    service = await stage.start({ role: 'api', settings: { SVC_PORT: String(PORT), SVC_PUBLIC_URL: SITE } });
    browser = await startChromium();
    elsewhere = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>elsewhere</title>');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await browser?.close();
    elsewhere?.close();
    await stage?.close();
  });

  /** Opens one of the service's pages in a browser with a virtual security key. */
  async function withKey(): Promise<Page> {
    const { page, context } = await openPage(browser, `${SITE}/device`);
    const cdp = await context.newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    const key = { protocol: 'ctap2', transport: 'usb', hasResidentKey: false, hasUserVerification: false } as const;
    const options = { ...key, automaticPresenceSimulation: true };
    await cdp.send('WebAuthn.addVirtualAuthenticator', { options });
    return page;
  }

  const inPage = (page: Page, verb: 'create' | 'get', options: object) => {
    const parse = verb === 'create' ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON';
    const publicKey = `PublicKeyCredential.${parse}(${JSON.stringify(options)})`;
    return page.evaluate(`navigator.credentials.${verb}({ publicKey: ${publicKey} }).then((made) => made.toJSON())`);
  };

  async function make(person: Person, page: Page): Promise<unknown> {
    const { status, body } = await service.call('POST', '/api/auth/second-factors/passkeys', {
      key: person.accessToken,
    });
    expect(status).toBe(200);
    return inPage(page, 'create', body.publicKey);
  }

  const confirm = (person: Person, credential: unknown): Promise<Answer> =>
    service.call('POST', '/api/auth/second-factors/passkeys/confirm', {
      key: person.accessToken,
      body: { name: 'security key', credential },
    });

  async function enrolled(page: Page): Promise<Person & { recoveryCodes: string[] }> {
    const person = await register(service);
    const { status, body } = await confirm(person, await make(person, page));
    expect(status).toBe(200);
    return { ...person, recoveryCodes: body.recoveryCodes };
  }

  const challenge = ({ email, password }: Person): Promise<Answer> =>
    service.call('POST', '/api/auth/passkey-challenge', { body: { email, password } });

  const answerOf = async (person: Person, page: Page) => inPage(page, 'get', (await challenge(person)).body.publicKey);

  const loginWith = ({ email, password }: Person, factors: object): Promise<Answer> =>
    service.call('POST', '/api/auth/login', { body: { email, password, ...factors } });

  it('sign in their owner, with recovery codes for a lost passkey', async () => {
    const page = await withKey();
    const person = await enrolled(page);
    expect(person.recoveryCodes).toHaveLength(10);
    assertProblem(await loginWith(person, {}), { status: 401, code: 'auth.second-factor-needed' });
    expect((await loginWith(person, { passkey: await answerOf(person, page) })).status).toBe(200);
    expect((await loginWith(person, { recoveryCode: person.recoveryCodes[0] })).status).toBe(200);
    expect((await loginWith(person, { recoveryCode: person.recoveryCodes[0] })).status).toBe(401);
    const ways = await stage.sql<{ methods: string[] }>(
      `SELECT methods FROM auth_session WHERE user_id = $1 AND 'mfa' = ANY(methods) ORDER BY id`,
      [await idOf(stage, person.email)],
    );
    expect(ways.map(({ methods }) => methods)).toEqual([
      ['pwd', 'hwk', 'mfa'],
      ['pwd', 'kba', 'mfa'],
    ]);
  });

  it('open a cookie session, and step up', async () => {
    const page = await withKey();
    const person = await enrolled(page);
    const headers = { 'x-csrf-protection': '1', 'sec-fetch-site': 'same-origin' };
    const passkey = await answerOf(person, page);
    const body = { email: person.email, password: person.password, passkey };
    const opened = await service.call('POST', '/api/auth/session', { body, headers });
    expect(opened.status).toBe(201);
    const key = person.accessToken;
    await stage.change(`UPDATE auth_session SET authenticated_at = now() - interval '1 hour' WHERE user_id = $1`, [
      await idOf(stage, person.email),
    ]);
    const stepUp = { password: person.password, passkey: await answerOf(person, page) };
    expect((await service.call('POST', '/api/auth/step-up', { key, body: stepUp })).status).toBe(204);
    expect((await service.call('POST', '/api/auth/recovery-codes', { key })).status).toBe(201);
  });

  it('can be listed and removed', async () => {
    const page = await withKey();
    const person = await enrolled(page);
    const key = person.accessToken;
    const { body } = await service.call('GET', '/api/auth/second-factors', { key });
    expect(body.items).toEqual([expect.objectContaining({ kind: 'passkey', name: 'security key' })]);
    expect((await service.call('DELETE', `/api/auth/second-factors/${body.items[0].id}`, { key })).status).toBe(204);
    expect((await login(service, person.email, person.password)).status).toBe(200);
    assertProblem(await challenge(person), { status: 422, code: 'second-factor.no-passkey' });
  });

  it('are not mentioned to somebody with a wrong password', async () => {
    const person = await enrolled(await withKey());
    assertProblem(await challenge({ ...person, password: 'wrong-wrong-wrong' }), {
      status: 401,
      code: 'auth.wrong-credentials',
    });
  });

  it('accept a challenge once, even ten times concurrently', async () => {
    const page = await withKey();
    const person = await enrolled(page);
    const passkey = await answerOf(person, page);
    const answers = await Promise.all(Array.from({ length: 10 }, () => loginWith(person, { passkey })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('are registered once, for a challenge of this service', async () => {
    const page = await withKey();
    const person = await register(service);
    const credential = await make(person, page);
    const stranger = await register(service);
    expect((await confirm(stranger, credential)).status).toBe(422);
    await make(person, page);
    await stage.sql(`UPDATE passkey_challenge SET expires_at = now() - interval '1 s'`);
    expect((await confirm(person, credential)).status).toBe(422);
  });

  it('are rejected for another person, or with a challenge for another person', async () => {
    const [mine, theirs] = [await withKey(), await withKey()];
    const [person, other] = [await enrolled(mine), await enrolled(theirs)];
    const wrong = { status: 401, code: 'auth.wrong-code' };
    assertProblem(await loginWith(person, { passkey: await answerOf(other, theirs) }), wrong);
    const { body } = await challenge(other);
    const own = (await challenge(person)).body.publicKey;
    const swapped = await inPage(mine, 'get', { ...own, challenge: body.publicKey.challenge });
    assertProblem(await loginWith(person, { passkey: swapped }), wrong);
  });

  it('are rejected when requested by a page elsewhere', async () => {
    const page = await withKey();
    const person = await enrolled(page);
    const { body } = await challenge(person);
    await page.goto(`http://localhost:${(elsewhere.address() as AddressInfo).port}/`);
    const passkey = await inPage(page, 'get', body.publicKey);
    assertProblem(await loginWith(person, { passkey }), { status: 401, code: 'auth.wrong-code' });
  });

  it('with a decreasing counter are copies and are rejected', async () => {
    const page = await withKey();
    const person = await enrolled(page);
    await stage.change(`UPDATE second_factor SET last_step = 1000 WHERE user_id = $1`, [
      await idOf(stage, person.email),
    ]);
    assertProblem(await loginWith(person, { passkey: await answerOf(person, page) }), {
      status: 401,
      code: 'auth.wrong-code',
    });
  });
});
