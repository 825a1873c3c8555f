import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CLIENT, OpenIdPeer } from '../fakes/openid-provider.js';
import { QuirkyProvider } from '../fakes/quirky-openid-provider.js';
import { SamlPeer, SIMPLESAMLPHP } from '../fakes/simplesamlphp.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { atKnownAddress, login, PEERS_HERE, register } from './people.js';
import { arrivalOf, arrive, putQuirky, RELEASE_RULE } from './quirky-calls.js';
import { postResponse, putProvider, responseFrom } from './saml-calls.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let honest: QuirkyProvider;
let hostile: QuirkyProvider;
const live = new OpenIdPeer();
const saml = new SamlPeer();

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api', settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
  [honest, hostile] = await Promise.all([QuirkyProvider.start(), QuirkyProvider.start()]);
  await live.start(`${service.url}/api/auth/oidc/callback/live`);
  live.accounts.set('boss', { email: 'boss@live.example', groups: ['release'] });
  if (SIMPLESAMLPHP === undefined) return;
  const at = (name: string) => `${service.url}/api/auth/saml/${name}`;
  const ada = { uid: 'ada', email: 'ada@saml.example', groups: ['release'] };
  await saml.start({ entityId: at('metadata'), acsUrl: at('callback') }, [ada]);
});
afterAll(async () => {
  await stage.close();
  await Promise.all([honest.stop(), hostile.stop(), live.stop()]);
  saml.stop();
});
beforeEach(() => {
  const claims = { sub: 'boss', email: 'boss@example.com', groups: ['release'] };
  for (const provider of [honest, hostile]) provider.is({ claims });
});

const callback = (name?: string) => `${service.url}/api/auth/oidc/callback${name === undefined ? '' : `/${name}`}`;
const put = (name: string, provider: QuirkyProvider, change: object = {}) =>
  putQuirky(service, apiKey, { name, provider, change });
const remove = (...names: string[]) =>
  Promise.all(names.map((name) => service.call('DELETE', `/api/settings/identity-providers/${name}`, { key: apiKey })));
const begin = (name: string) => `${service.url}/api/auth/oidc/login?provider=${name}&returnTo=/console`;

/** Starts a sign-in and returns the parameters that the service sends to the provider. */
async function started(browser: Browser, name: string): Promise<URLSearchParams> {
  const { headers } = await browser.request(begin(name));
  return new URL(headers.get('location') ?? '').searchParams;
}

/** Converts a provider to the state stored by an earlier version, which used only the shared redirect URI. */
const asEarlier = (name: string) =>
  stage.change(`UPDATE identity_provider SET settings = settings - 'redirect' WHERE name = $1`, [name]);

describe('a mix-up of two providers (RFC 9700 section 4.4)', () => {
  beforeAll(async () => {
    await put('honest', honest);
    await put('hostile', hostile);
  });
  afterAll(() => remove('honest', 'hostile', 'live'));

  /**
   * Performs the mix-up attack: the victim's browser begins at the malicious provider, which redirects the browser to the honest provider with the parameters
   * of the attacker's own sign-in. @param redirectUri the address that the malicious provider requests
   */
  async function mixUp(
    redirectUri: string,
  ): Promise<{ victim: Awaited<ReturnType<typeof arrivalOf>>; attacker: Browser }> {
    const [attacker, victim] = [new Browser(), new Browser()];
    const own = await started(attacker, 'honest');
    const theirs = await started(victim, 'hostile');
    const led = new URL(`${honest.origin}/authorize`);
    for (const [name, value] of own) led.searchParams.set(name, value);
    led.searchParams.set('state', theirs.get('state') ?? '');
    led.searchParams.set('redirect_uri', redirectUri);
    const back = (await victim.request(led.href)).headers.get('location') ?? '';
    expect(new URL(back).searchParams.get('code')).not.toBeNull();
    return { victim: await arrivalOf(await victim.request(back)), attacker };
  }

  it.each<[string, () => string]>([
    ['its own address, which is registered there', () => callback('honest')],
    ['the address of earlier versions', () => callback()],
  ])('does not send the hostile provider a code of the honest one, which responds at %s', async (_, address) => {
    const { victim } = await mixUp(address());
    expect(victim).toMatchObject({ status: 401, code: 'sso.refused' });
    expect(hostile.seen).toEqual([]);
    expect(honest.seen).toEqual([]);
  });

  it('does not send a code either if the honest provider sends its issuer and accepts any redirect URI', async () => {
    honest.is({ iss: honest.origin });
    expect((await mixUp(callback('hostile'))).victim).toMatchObject({ status: 401, code: 'sso.refused' });
    expect(hostile.seen).toEqual([]);
  });

  it('does not work with a certified provider, which redirects to its registered URI only', async () => {
    const body = { label: 'live', enabled: true, rules: [RELEASE_RULE], issuer: live.issuer, clientId: CLIENT.id };
    const created = await service.call('PUT', '/api/settings/identity-providers/oidc/live', {
      key: apiKey,
      body: { ...body, clientSecret: CLIENT.secret },
    });
    expect(created.body).toMatchObject({ redirect: 'own', redirectUri: callback('live') });
    const [attacker, victim] = [new Browser(), new Browser()];
    const own = await started(attacker, 'live');
    const theirs = await started(victim, 'hostile');
    const led = new URL(`${live.issuer}/auth`);
    for (const [name, value] of own) led.searchParams.set(name, value);
    led.searchParams.set('state', theirs.get('state') ?? '');
    led.searchParams.set('redirect_uri', callback('hostile'));
    expect((await victim.request(led.href)).status).toBe(400);
    led.searchParams.set('redirect_uri', callback('live'));
    const back = await signedInAtLive(victim, led.href);
    expect(await arrivalOf(await victim.request(back))).toMatchObject({ status: 401, code: 'sso.refused' });
    expect(hostile.seen).toEqual([]);
  });

  async function signedInAtLive(browser: Browser, url: string): Promise<string> {
    const isOurs = (place: string) => place.startsWith(callback());
    let place = (await browser.follow(url, isOurs)).url;
    for (let step = 0; step < 4 && !isOurs(place); step += 1) {
      const html = await (await browser.request(place)).text();
      const action = new URL(/action="([^"]+)"/.exec(html)?.[1] ?? '', place).href;
      const prompt = /name="prompt" value="([^"]+)"/.exec(html)?.[1] ?? 'login';
      const posted = await browser.postForm(action, { prompt, login: 'boss', password: 'any' });
      place = (await browser.follow(new URL(posted.headers.get('location') ?? '', place).href, isOurs)).url;
    }
    return place;
  }

  it('is also refused for a test sign-in', async () => {
    const browser = new Browser();
    const first = await signedInAdmin();
    const answer = await service.call('POST', '/api/settings/identity-providers/test/hostile/sign-in', {
      key: first,
      body: {},
    });
    for (const line of answer.headers.getSetCookie()) browser.keepCookie(service.url, line);
    const theirs = new URL(answer.body.redirect as string).searchParams;
    const own = await started(new Browser(), 'honest');
    const led = new URL(`${honest.origin}/authorize`);
    for (const [name, value] of own) led.searchParams.set(name, value);
    led.searchParams.set('state', theirs.get('state') ?? '');
    const back = (await browser.request(led.href)).headers.get('location') ?? '';
    const { location } = await arrivalOf(await browser.request(back));
    expect(location).toContain('#test=');
    expect(hostile.seen).toEqual([]);
  });

  /** Access token of a new administrator. */
  async function signedInAdmin(): Promise<string> {
    const person = await register(service, 'chief');
    await stage.change(`UPDATE user_account SET roles = '{admin}' WHERE email = $1`, [person.email]);
    return (await login(service, person.email, person.password)).body.access_token as string;
  }
});

describe('the shared redirect URI of earlier versions', () => {
  afterAll(() => remove('first', 'second'));

  it('keeps working for an installation with one provider, and is reported in API and test', async () => {
    await put('first', honest);
    await asEarlier('first');
    expect((await started(new Browser(), 'first')).get('redirect_uri')).toBe(callback());
    expect((await arrive(service, 'first')).status).toBe(303);
    const shown = await service.call('GET', '/api/settings/identity-providers/first', { key: apiKey });
    expect(shown.body).toMatchObject({ redirect: 'shared', redirectUri: callback() });
    const { body } = await service.call('POST', '/api/settings/identity-providers/test/first', { key: apiKey });
    expect(body.findings).toContainEqual(expect.objectContaining({ check: 'redirect URI', ok: true }));
  });

  it('is kept when such a provider is replaced, until it gets its own', async () => {
    expect((await put('first', honest, { label: 'again' })).body).toMatchObject({ redirect: 'shared' });
    expect((await arrive(service, 'first')).status).toBe(303);
    const { headers } = await service.call('GET', '/api/settings/identity-providers/first', { key: apiKey });
    const changed = await service.call('PATCH', '/api/settings/identity-providers/oidc/first', {
      key: apiKey,
      body: { redirect: 'own' },
      headers: { 'if-match': headers.get('etag') ?? '' },
    });
    expect(changed.body).toMatchObject({ redirect: 'own', redirectUri: callback('first') });
    expect((await arrive(service, 'first')).status).toBe(303);
    expect((await put('first', honest, { redirect: 'shared' })).body).toMatchObject({ redirect: 'shared' });
  });

  it('is safe for two providers only if their responses name the issuer (RFC 9207)', async () => {
    await put('second', hostile);
    await asEarlier('second');
    for (const name of ['first', 'second'])
      expect(await arrive(service, name)).toMatchObject({ status: 403, code: 'sso.redirect-shared' });
    expect([...honest.seen, ...hostile.seen]).toEqual([]);
    const { body } = await service.call('POST', '/api/settings/identity-providers/test/first', { key: apiKey });
    expect(body.findings).toContainEqual(expect.objectContaining({ check: 'redirect URI', ok: false }));
    honest.is({ iss: honest.origin, claims: { sub: 'boss', email: 'boss@example.com', groups: ['release'] } });
    expect((await arrive(service, 'first')).status).toBe(303);
  });

  it('is not assigned to a second provider', async () => {
    const refused = { status: 422, code: 'identity-provider.redirect', pointer: '/redirect' };
    assertProblem(await put('third', hostile, { redirect: 'shared' }), refused);
  });
});

describe('two providers with the same issuer', () => {
  it('create one account for a subject, even if its address changed, so that one person has one vote', async () => {
    await put('corp', honest);
    await put('corp-mfa', honest);
    honest.is({ claims: { sub: 'dana', email: 'dana@example.com', groups: ['release'] } });
    expect((await arrive(service, 'corp')).code).toBe('');
    honest.is({ claims: { sub: 'dana', email: 'dana+mfa@example.com', groups: ['release'] } });
    const { code, detail } = await arrive(service, 'corp-mfa');
    expect({ code, detail }).toEqual({
      code: 'sso.address-taken',
      detail: expect.stringContaining('through the identity provider "corp", which has the same issuer'),
    });
    await remove('corp', 'corp-mfa');
  });
});

describe('a required authentication context', () => {
  afterAll(() => remove('strong'));
  const strong = (claims: object) =>
    honest.is({ claims: { sub: 'boss', email: 'b@strong.example', groups: ['release'], ...claims } });

  it('is requested from an OpenID provider, and verified in the ID token', async () => {
    expect((await put('strong', honest, { acrValues: ['phr', 'phrh'] })).body.settings.acrValues).toEqual([
      'phr',
      'phrh',
    ]);
    strong({ acr: 'phrh', amr: ['hwk', 'user'] });
    expect((await arrive(service, 'strong')).status).toBe(303);
    expect(honest.asked[0]?.get('acr_values')).toBe('phr phrh');
  });

  it.each<[string, object]>([
    ['a weaker one', { acr: 'urn:password' }],
    ['none', {}],
    ['one that is not text', { acr: ['phr'] }],
  ])('is refused with the received and the required value: %s', async (_, claims) => {
    strong(claims);
    const { status, code, detail } = await arrive(service, 'strong');
    expect({ status, code }).toEqual({ status: 403, code: 'sso.weak-sign-in' });
    expect(detail).toContain('"phr" or "phrh"');
  });

  it('is not read from userinfo, nor avoided by removing it from the request', async () => {
    honest.is({ claims: { sub: 'boss', groups: ['release'] }, userinfo: { sub: 'boss', acr: 'phr', amr: ['mfa'] } });
    expect((await arrive(service, 'strong')).code).toBe('sso.weak-sign-in');
    strong({ acr: 'pwd' });
    const browser = new Browser();
    const asked = new URL((await browser.request(begin('strong'))).headers.get('location') ?? '');
    asked.searchParams.delete('acr_values');
    const back = (await browser.request(asked.href)).headers.get('location') ?? '';
    expect(await arrivalOf(await browser.request(back))).toMatchObject({ code: 'sso.weak-sign-in' });
  });

  it('is also verified at a step-up', async () => {
    strong({ acr: 'phr', auth_time: Math.floor(Date.now() / 1000) });
    const browser = new Browser();
    const done = await arrive(service, 'strong', { browser, answer: 'cookie' });
    await browser.request(`${service.url}${done.location}`);
    const own = { 'content-type': 'application/json', 'x-csrf-protection': '1', 'sec-fetch-site': 'same-origin' };
    const body = JSON.stringify({ returnTo: '/console' });
    const answer = await browser.request(`${service.url}/api/auth/step-up/sso`, { method: 'POST', headers: own, body });
    const { redirect } = (await answer.json()) as { redirect: string };
    expect(new URL(redirect).searchParams.get('acr_values')).toBe('phr phrh');
    strong({ acr: 'pwd', auth_time: Math.floor(Date.now() / 1000) });
    const back = (await browser.request(redirect)).headers.get('location') ?? '';
    expect((await arrivalOf(await browser.request(back))).location).toBe('/console#error=sso.weak-sign-in');
  });

  it.skipIf(SIMPLESAMLPHP === undefined)('is verified in a SAML assertion', async () => {
    const signIn = async () => {
      const start = `${service.url}/api/auth/saml/login?provider=main`;
      return arrivalOf(await postResponse(service, await responseFrom(new Browser(), 'ada', start)));
    };
    const mfa = 'https://refeds.org/profile/mfa';
    const context = (more: object) => ({ requestedAuthnContext: { classes: [mfa], comparison: 'exact', ...more } });
    expect((await putProvider(service, saml, apiKey, context({}))).status).toBe(200);
    const { status, code, detail } = await signIn();
    expect({ status, code }).toEqual({ status: 403, code: 'sso.weak-sign-in' });
    expect(detail).toContain(mfa);
    const came = /with "([^"]+)"/.exec(detail)?.[1] ?? '';
    expect(came).toMatch(/^urn:oasis:names:tc:SAML:2\.0:ac:classes:/);
    for (const comparison of ['minimum', 'better']) {
      await putProvider(service, saml, apiKey, context({ comparison, accepted: [came] }));
      expect((await signIn()).status).toBe(303);
    }
    await putProvider(service, saml, apiKey, {
      requestedAuthnContext: { classes: [came], comparison: 'better', accepted: [mfa] },
    });
    expect((await signIn()).code).toBe('sso.weak-sign-in');
    assertProblem(await putProvider(service, saml, apiKey, context({ comparison: 'better' })), {
      status: 422,
      code: 'identity-provider.authentication-context',
      pointer: '/requestedAuthnContext/accepted',
    });
  });
});
