import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT, OpenIdPeer } from '../fakes/openid-provider.js';
import { SamlPeer, SIMPLESAMLPHP } from '../fakes/simplesamlphp.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { atKnownAddress, PEERS_HERE, register } from './people.js';
import { postResponse, putProvider, responseFrom } from './saml-calls.js';

/** Follows the redirects from `begin` through the provider and back to the console. Returns the final path. */
type Way = (browser: Browser, account: string, begin: string) => Promise<string>;

const OWN = { 'content-type': 'application/json', 'x-csrf-protection': '1', 'sec-fetch-site': 'same-origin' };
const oidc = new OpenIdPeer();
const saml = new SamlPeer();
let stage: Stage;
let service: Service;

beforeAll(async () => {
  stage = await openStage();
  const { apiKey } = await stage.seed();
  service = await stage.start({ role: 'api', settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
  await oidc.start(`${service.url}/api/auth/oidc/callback/other`);
  const rules = [{ claim: 'groups', op: 'equals', value: 'release', roles: ['operator'] }];
  const client = { issuer: oidc.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret };
  const body = { label: 'x', enabled: true, rules, ...client };
  await service.call('PUT', '/api/settings/identity-providers/oidc/other', { key: apiKey, body });
  const people = ['ada', 'eve'].map((uid) => ({ uid, email: `${uid}@saml.example`, groups: ['release'] }));
  for (const { uid, groups } of people) oidc.accounts.set(uid, { email: `${uid}@oidc.example`, groups });
  if (SIMPLESAMLPHP === undefined) return;
  const at = (name: string) => `${service.url}/api/auth/saml/${name}`;
  await saml.start({ entityId: at('metadata'), acsUrl: at('callback') }, people);
  await putProvider(service, saml, apiKey);
});
afterAll(async () => {
  await stage.close();
  await oidc.stop();
  saml.stop();
});

const isBack = (url: string) => url.startsWith(`${service.url}/console`);
const pathOf = (url: string) => url.slice(service.url.length);

/** Completes the provider's sign-in pages, including the page that ends another person's session. */
const byOidc: Way = async (browser, account, begin) => {
  let place = (await browser.follow(begin, isBack)).url;
  for (let page = 0; page < 6 && !isBack(place); page += 1) {
    const html = await (await browser.request(place)).text();
    place = await submitted(browser, html, place, account);
  }
  return pathOf(place);
};

async function submitted(browser: Browser, html: string, at: string, account: string): Promise<string> {
  const hidden = Array.from(html.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g), ([, name, value]) => [
    name,
    value,
  ]);
  const action = new URL(/action="([^"]+)"/.exec(html)?.[1] ?? '', at).href;
  const posted = await browser.postForm(action, { ...Object.fromEntries(hidden), login: account, password: 'any' });
  const next = posted.headers.get('location');
  if (next !== null) return (await browser.follow(new URL(next, at).href, isBack)).url;
  return submitted(browser, await posted.text(), action, account);
}

const bySaml: Way = async (browser, account, begin) => {
  const posted = await postResponse(service, await responseFrom(browser, account, begin));
  const next = new URL(posted.headers.get('location') ?? '', service.url).href;
  return pathOf(isBack(next) ? next : (await browser.follow(next, isBack)).url);
};

/** Returns the URL without the parameters that require a new authentication. */
function withoutAsking(address: string): string {
  const url = new URL(address);
  url.searchParams.delete('prompt');
  if (url.searchParams.has('max_age')) url.searchParams.set('max_age', '3600');
  const request = url.searchParams.get('SAMLRequest');
  if (request !== null) {
    const xml = inflateRawSync(Buffer.from(request, 'base64')).toString();
    const changed = xml.replace(' ForceAuthn="true"', '');
    if (changed === xml) throw new Error('the request did not ask again');
    url.searchParams.set('SAMLRequest', deflateRawSync(changed).toString('base64'));
  }
  return url.href;
}

const login = (kind: string) => `${service.url}/api/auth/${kind}/login?returnTo=/console&answer=cookie`;
const send = (browser: Browser, path: string, body: object) =>
  browser.request(`${service.url}${path}`, { method: 'POST', headers: OWN, body: JSON.stringify(body) });
/** Calls an operation that requires step-up. */
const enrol = (browser: Browser) => send(browser, '/api/auth/second-factors/totp', { name: 'phone' });

async function ask(browser: Browser): Promise<string> {
  const answer = await send(browser, '/api/auth/step-up/sso', { returnTo: '/console' });
  return ((await answer.json()) as { redirect: string }).redirect;
}

async function sessionOf(browser: Browser): Promise<string> {
  const answer = await browser.request(`${service.url}/api/auth/me`);
  return ((await answer.json()) as { session: string }).session;
}

async function authenticatedAt(browser: Browser): Promise<string> {
  const answer = await browser.request(`${service.url}/api/auth/sessions`);
  const { items } = (await answer.json()) as { items: { current: boolean; authenticatedAt: string }[] };
  return items.find(({ current }) => current)?.authenticatedAt ?? '';
}

/** Signs ada in and backdates the authentication by an hour. */
async function signedIn(kind: string, way: Way): Promise<Browser> {
  const browser = new Browser();
  expect(await way(browser, 'ada', login(kind))).toBe('/console');
  await stage.change(`UPDATE auth_session SET authenticated_at = now() - interval '1 hour' WHERE ended_at IS NULL`);
  return browser;
}

describe.each<[string, Way]>([
  ['oidc', byOidc],
  ['saml', bySaml],
])('signing in through %s', (kind, way) => {
  it.skipIf(kind === 'saml' && SIMPLESAMLPHP === undefined)(
    'steps up by authenticating at the provider again, within the same session',
    async () => {
      const browser = await signedIn(kind, way);
      expect((await enrol(browser)).status).toBe(403);
      const session = await sessionOf(browser);
      const before = browser.cookieOf(service.url, 'sealwright-session');
      expect(await way(browser, 'ada', await ask(browser))).toBe('/console');
      expect((await enrol(browser)).status).toBe(201);
      expect(await sessionOf(browser)).toBe(session);
      const stolen = await service.call('GET', '/api/auth/me', { headers: { cookie: `sealwright-session=${before}` } });
      expect(stolen.status).toBe(401);
    },
  );

  it.skipIf(kind === 'saml' && SIMPLESAMLPHP === undefined)(
    'rejects a step-up if the provider did not authenticate again, or authenticated somebody else',
    async () => {
      const browser = await signedIn(kind, way);
      const unasked = withoutAsking(await ask(browser));
      // Simulates a step-up attempt that began after the sign-in at the provider, and later than the allowed clock skew explains.
      await stage.change(
        `UPDATE sso_transaction SET expires_at = expires_at + interval '2 minutes' WHERE status = 'STARTED'`,
      );
      expect(await way(browser, 'ada', unasked)).toBe('/console#error=sso.not-asked');
      expect(await way(browser, 'eve', await ask(browser))).toBe('/console#error=sso.another-person');
      // When another person signs in, an OpenID provider also reports that the first person's session has ended.
      expect([401, 403]).toContain((await enrol(browser)).status);
    },
  );

  it.skipIf(kind === 'saml' && SIMPLESAMLPHP === undefined)(
    'uses the authentication time of the provider',
    async () => {
      const browser = new Browser();
      await way(browser, 'ada', login(kind));
      const first = await authenticatedAt(browser);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await way(browser, 'ada', login(kind));
      expect(await authenticatedAt(browser)).toBe(first);
      expect(Math.abs(Date.parse(first) - Date.now())).toBeLessThan(60_000);
    },
  );
});

it('a provider that sends no authentication time proves no recent sign-in', async () => {
  const browser = new Browser();
  const { headers } = await browser.request(login('oidc'));
  const silent = new URL(headers.get('location') ?? '');
  silent.searchParams.delete('max_age');
  expect(await byOidc(browser, 'ada', silent.href)).toBe('/console');
  expect(await authenticatedAt(browser)).toBe(new Date(0).toISOString());
  expect((await enrol(browser)).status).toBe(403);
});

it('refers people with a password to the step-up by password', async () => {
  const { accessToken: key } = await register(service);
  assertProblem(await service.call('POST', '/api/auth/step-up/sso', { key, body: {} }), {
    status: 422,
    code: 'sso.no-provider',
  });
});
