import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT, OpenIdPeer } from '../fakes/openid-provider.js';
import { type SamlAccount, SamlPeer, SIMPLESAMLPHP } from '../fakes/simplesamlphp.js';
import { CHROMIUM, openPage, startChromium } from '../support/browser.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { deviceGrant, makeClient, postForm } from './oauth-calls.js';
import { atKnownAddress, login, newPassword, PEERS_HERE, register } from './people.js';

const ACCOUNTS: SamlAccount[] = [
  { uid: 'ada', email: 'ada@saml.example', groups: ['release'] },
  { uid: 'eve', email: 'eve@saml.example', groups: ['strangers'] },
];
const RULES = [{ claim: 'groups', op: 'equals', value: 'release', roles: ['operator'] }];

let stage: Stage;
let service: Service;
let apiKey: string;
let browser: Browser;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api', settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
  if (CHROMIUM !== undefined) browser = await startChromium();
});
afterAll(async () => {
  await browser?.close();
  await stage.close();
});

async function put(place: string, change: object): Promise<void> {
  const body = { label: 'Sign in with Example', enabled: true, rules: RULES, ...change };
  const answer = await service.call('PUT', `/api/settings/identity-providers/${place}`, { key: apiKey, body });
  expect(answer.status).toBe(200);
}

/** Navigates from one of the service's pages to the provider. The provider is on localhost, a different site from the service on 127.0.0.1. */
async function leave(kind: string, answer: string) {
  const opened = await openPage(browser, `${service.url}/device`);
  const there = `/api/auth/${kind}/login?returnTo=/device&answer=${answer}`;
  await opened.page.evaluate(`location.assign('${there}')`);
  await opened.page.waitForURL('http://localhost:*/**');
  return opened;
}

const back = (page: Page) => page.waitForURL(`${service.url}/device*`);

/** Returns the name of the person signed in by the page's cookie, or the error status. */
const whoIsIn = (page: Page) =>
  page.evaluate(async () => {
    const answer = await fetch('/api/auth/me');
    return answer.ok ? ((await answer.json()) as { name: string }).name : answer.status;
  });

const hashOf = (page: Page) => new URL(page.url()).hash;

const redeem = (page: Page) =>
  page.evaluate(
    async (body) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch('/api/auth/sso/tokens', { method: 'POST', headers, body: JSON.stringify(body) })).status;
    },
    { ticket: hashOf(page).replace('#ticket=', '') },
  );

describe.skipIf(CHROMIUM === undefined)('oidc-provider sign-in in Chromium', () => {
  const idp = new OpenIdPeer();

  beforeAll(async () => {
    await idp.start(`${service.url}/api/auth/oidc/callback/main`, 'localhost');
    await put('oidc/main', { issuer: idp.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret });
    idp.accounts.set('ada', { email: 'ada@oidc.example', groups: ['release'] });
    idp.accounts.set('eve', { email: 'eve@oidc.example', groups: ['strangers'] });
  });
  afterAll(() => idp.stop());

  async function signIn(page: Page, account: string): Promise<void> {
    await page.getByPlaceholder('Enter any login').fill(account);
    await page.getByPlaceholder('and password').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await back(page);
  }

  it('returns to the page, signed in by a cookie', async () => {
    const { page, context } = await leave('oidc', 'cookie');
    await signIn(page, 'ada');
    expect(hashOf(page)).toBe('');
    expect(await whoIsIn(page)).toBe('ada@oidc.example');
    const cookies = (await context.cookies()).filter(({ domain }) => domain === '127.0.0.1');
    expect(cookies).toEqual([
      expect.objectContaining({ name: 'sealwright-session', httpOnly: true, sameSite: 'Strict' }),
    ]);
    await context.close();
  });

  it('returns with the problem code', async () => {
    const { page, context } = await leave('oidc', 'cookie');
    await signIn(page, 'eve');
    expect(hashOf(page)).toBe('#error=sso.no-role');
    expect(await whoIsIn(page)).toBe(401);
    await context.close();
  });

  it('returns with a ticket, which this browser exchanges for tokens', async () => {
    const { page, context } = await leave('oidc', 'ticket');
    await signIn(page, 'ada');
    expect(await whoIsIn(page)).toBe(401);
    expect(await redeem(page)).toBe(200);
    await context.close();
  });
});

describe.skipIf(CHROMIUM === undefined || SIMPLESAMLPHP === undefined)('SimpleSAMLphp sign-in in Chromium', () => {
  let idp: SamlPeer;

  beforeAll(async () => {
    idp = new SamlPeer();
    const [entityId = '', acsUrl = ''] = ['metadata', 'callback'].map((name) => `${service.url}/api/auth/saml/${name}`);
    await idp.start({ entityId, acsUrl }, ACCOUNTS);
    const { entityId: issuer, entryPoint, certificate } = idp;
    await put('saml/other', { entityId: issuer, entryPoint, certificates: [certificate] });
  });
  afterAll(() => idp?.stop());

  async function signIn(page: Page, account: string): Promise<void> {
    await page.locator('[name=username]').fill(account);
    await page.locator('[name=password]').fill(account);
    await page.locator('[name=password]').press('Enter');
    await back(page);
  }

  it('returns to the page, signed in by a cookie, although its POST carries none', async () => {
    const { page, context } = await leave('saml', 'cookie');
    const posted = page.waitForRequest(`${service.url}/api/auth/saml/callback`);
    await signIn(page, 'ada');
    expect((await (await posted).allHeaders())['cookie']).toBeUndefined();
    expect(await whoIsIn(page)).toBe('ada@saml.example');
    await context.close();
  });

  it('returns with the problem code', async () => {
    const { page, context } = await leave('saml', 'cookie');
    await signIn(page, 'eve');
    expect(hashOf(page)).toBe('#error=sso.no-role');
    await context.close();
  });

  it('returns with a ticket, which this browser exchanges for tokens', async () => {
    const { page, context } = await leave('saml', 'ticket');
    await signIn(page, 'ada');
    expect(await redeem(page)).toBe(200);
    await context.close();
  });
});

describe.skipIf(CHROMIUM === undefined)('pages in Chromium', () => {
  it.each([
    { button: 'Allow', words: 'Done. Go back to your device.', grant: { scope: 'sign:read' } },
    { button: 'Deny', words: 'The request was denied.', grant: { error: 'access_denied' } },
  ])(
    '/device signs in, shows what the device requests, and accepts the answer $button',
    async ({ button, words, grant }) => {
      const client = await makeClient(service, apiKey, ['sign:read', 'hosts:read'], 'public');
      const { body: device } = await postForm(service, '/oauth/device_authorization', {
        client_id: client.client_id,
        scope: 'sign:read',
      });
      const person = await register(service);
      const { page, context, assertNoFaults } = await openPage(browser, device.verification_uri_complete);
      await page.getByLabel('Email address').fill(person.email);
      await page.getByLabel('Password').fill(person.password);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText('wants to act for you').waitFor();
      expect(await page.locator('#scopes li').allTextContents()).toEqual(['sign:read']);
      await page.getByRole('button', { name: button }).click();
      await page.getByText(words).waitFor();
      const { body } = await postForm(service, '/oauth/token', deviceGrant(client, device.device_code));
      expect(body).toMatchObject(grant);
      assertNoFaults();
      await context.close();
    },
  );

  it('/account creates an account from an invitation, whose secret is sent to this service only', async () => {
    const email = `newcomer-${Date.now()}@example.org`;
    const invited = await service.call('POST', '/api/settings/invitations', {
      key: apiKey,
      body: { email, roles: ['operator'] },
    });
    const password = newPassword();
    const { page, context, assertNoFaults } = await openPage(browser, invited.body.link);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByText('You can sign in with your new password.').waitFor();
    expect((await login(service, email, password)).status).toBe(200);
    const secret = new URL(invited.body.link).hash.slice(1).split('=')[1] ?? '';
    expect(secret).toMatch(/^sw_mail_/);
    expect(asked.filter((url) => url.includes(secret))).toEqual([]);
    assertNoFaults();
    await context.close();
  });
});
