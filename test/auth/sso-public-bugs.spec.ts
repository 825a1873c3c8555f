import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newProviderKey, QUIRKY_CLIENT, QuirkyProvider } from '../fakes/quirky-openid-provider.js';
import { SamlPeer, SIMPLESAMLPHP } from '../fakes/simplesamlphp.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { atKnownAddress, idOf, login, me, PEERS_HERE, register } from './people.js';
import { arrivalOf, arrive, putQuirky, RELEASE_RULE, signInAt } from './quirky-calls.js';
import { postResponse, putProvider, responseFrom } from './saml-calls.js';

/** Tests for classes of vulnerabilities published for products with single sign-on. */
let stage: Stage;
let service: Service;
let apiKey: string;
let provider: QuirkyProvider;
const saml = new SamlPeer();

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api', settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
  provider = await QuirkyProvider.start();
  if (SIMPLESAMLPHP === undefined) return;
  const at = (name: string) => `${service.url}/api/auth/saml/${name}`;
  await saml.start({ entityId: at('metadata'), acsUrl: at('callback') }, [
    { uid: 'ada', email: 'ada@saml.example', groups: ['release'] },
  ]);
  await putProvider(service, saml, apiKey);
});
afterAll(async () => {
  await stage.close();
  await provider.stop();
  saml.stop();
});
beforeEach(async () => {
  await put();
});

const put = (change: object = {}) => putQuirky(service, apiKey, { name: 'op', provider, change });
const person = (sub: unknown, claims: object = {}) =>
  provider.is({
    claims: {
      sub,
      email: `${String(sub)}@bugs.example`,
      groups: ['release'],
      auth_time: Math.floor(Date.now() / 1000),
      ...claims,
    },
  });

describe('accounts', () => {
  it.each([
    ['in capitals', (email: string) => email.toUpperCase()],
    ['in full-width letters', (email: string) => email.replace('k', '\uFF4B')],
    ['with the Kelvin sign for a K', (email: string) => email.replace('k', '\u212A')],
    ['among blanks', (email: string) => `  ${email} `],
  ])('are not taken over by an email address %s (Grafana CVE-2023-3128, GitHub 2019)', async (_, change) => {
    const { email, password } = await register(service, 'kim');
    person('intruder', { email: change(email), email_verified: true });
    expect((await arrive(service, 'op')).code).toBe('sso.address-taken');
    expect((await login(service, email, password)).status).toBe(200);
  });

  it.each([[''], [7], [null], [['ada']]])(
    'are not found by the subject %j (empty or missing subjects)',
    async (sub) => {
      person(sub, { email: 'nobody@bugs.example' });
      expect(await arrive(service, 'op')).toMatchObject({ status: 401, code: 'sso.refused' });
    },
  );

  it('that are disabled stay disabled, whatever roles the provider gives (Argo CD, authentik)', async () => {
    person('barred');
    await signInAt(service, 'op');
    const id = await idOf(stage, 'barred@bugs.example');
    await service.call('PATCH', `/api/settings/users/${id}`, { key: apiKey, body: { disabled: true } });
    expect((await arrive(service, 'op')).code).toBe('sso.disabled');
    const [row] = await stage.sql<{ disabled: boolean }>(`SELECT disabled FROM user_account WHERE id = $1`, [id]);
    expect(row?.disabled).toBe(true);
  });

  it('leave no OAuth client with rights when the person loses every group (GitLab: tokens of removed members)', async () => {
    await put({ rules: [{ ...RELEASE_RULE, roles: ['admin'] }] });
    person('owner');
    const key = (await signInAt(service, 'op'))['access_token'] ?? '';
    const order = { name: 'theirs', permissions: ['sign:read'] };
    const { body } = await service.call('POST', '/api/settings/oauth-clients', { key, body: order });
    const grant = { grant_type: 'client_credentials', client_id: body.client_id, client_secret: body.client_secret };
    const before = await service.call('POST', '/oauth/token', { body: grant });
    expect((await me(service, before.body.access_token as string)).body.scopes).toEqual(['sign:read']);
    person('owner', { groups: [] });
    await arrive(service, 'op');
    await expect
      .poll(async () => (await me(service, before.body.access_token as string)).body.scopes ?? [], { timeout: 6000 })
      .toEqual([]);
  });
});

describe('SSO responses', () => {
  it('with an unsigned ID token are rejected (alg none, CVE-2015-9235 and successors)', async () => {
    const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: provider.origin, aud: QUIRKY_CLIENT.id, sub: 'x', iat: now, exp: now + 60 };
    for (const alg of ['none', 'None', 'nOnE']) {
      provider.is({ tokens: { id_token: `${encoded({ alg })}.${encoded(claims)}.` } });
      expect(await arrive(service, 'op')).toMatchObject({ status: 401, code: 'sso.refused' });
    }
  });

  it.each([
    ['for other clients', { aud: ['somebody-else', 'another'] }],
    ['without an audience', { aud: undefined }],
    ['of no time', { exp: undefined }],
  ])('with an ID token %s are rejected (Jenkins oic-auth CVE-2024-47806)', async (_, claims) => {
    person('aud', claims);
    expect(await arrive(service, 'op')).toMatchObject({ status: 401, code: 'sso.refused' });
  });

  it.each(['code', 'iss', 'state'])(
    'with a duplicate parameter %s are rejected (parameter pollution)',
    async (name) => {
      provider.is({ iss: provider.origin });
      person('twice');
      const browser = new Browser();
      const isOurs = (url: string) => url.startsWith(`${service.url}/api/auth/oidc/callback`);
      const { url } = await browser.follow(`${service.url}/api/auth/oidc/login?provider=op`, isOurs);
      const doubled = `${url}&${name}=${encodeURIComponent(new URL(url).searchParams.get(name) ?? 'x')}x`;
      expect((await arrivalOf(await browser.request(doubled))).status).toBe(401);
    },
  );

  it('reflect no provider text in the page or the URL (like Keycloak CVE-2022-4361)', async () => {
    const refusal = { error: 'access_denied', error_description: '"><script>alert(1)</script>\r\nSet-Cookie: a=b' };
    provider.is({ refusal });
    const { location } = await arrive(service, 'op', { answer: 'cookie' });
    expect(location).toBe('/console#error=sso.refused');
  });

  it('received after the provider was disabled are rejected (time of check)', async () => {
    person('late');
    const browser = new Browser();
    const isOurs = (url: string) => url.startsWith(`${service.url}/api/auth/oidc/callback`);
    const { url } = await browser.follow(`${service.url}/api/auth/oidc/login?provider=op`, isOurs);
    await put({ enabled: false });
    expect((await arrivalOf(await browser.request(url))).code).toBe('sso.unknown');
  });

  const changed = async (change: (xml: string) => string) => {
    const begin = `${service.url}/api/auth/saml/login?provider=main`;
    await putProvider(service, saml, apiKey);
    const xml = Buffer.from(await responseFrom(new Browser(), 'ada', begin), 'base64').toString();
    expect(change(xml)).not.toBe(xml);
    return arrivalOf(await postResponse(service, Buffer.from(change(xml)).toString('base64')));
  };

  it.skipIf(SIMPLESAMLPHP === undefined).each<[string, (xml: string) => string]>([
    [
      'a digest beside the signature (GitLab CVE-2024-45409)',
      (xml) =>
        xml
          .replace(
            '</samlp:Status>',
            '<samlp:StatusDetail><DigestValue>AAAA</DigestValue></samlp:StatusDetail></samlp:Status>',
          )
          .replaceAll('ada@saml', 'boss@saml'),
    ],
    ['a comment in a name (CVE-2017-11427)', (xml) => xml.replace(/(<saml:NameID[^>]*>)(.)/, '$1$2<!---->')],
    [
      'a second assertion in front (signature wrapping, Keycloak CVE-2024-8698)',
      (xml) =>
        xml
          .replace(/(<saml:Assertion .*<\/saml:Assertion>)/s, '<saml:Assertion ID="_x"/>$1')
          .replaceAll('ada@saml', 'boss@saml'),
    ],
  ])('in SAML with %s are rejected', async (_, change) => {
    expect((await changed(change)).code).toBe('sso.refused');
  });
});

describe('SSO settings', () => {
  it('sent back as read keep the secret, and do not store a mask (Keycloak: masked client secrets)', async () => {
    const path = '/api/settings/identity-providers/op';
    const { body, headers } = await service.call('GET', path, { key: apiKey });
    expect(JSON.stringify(body)).not.toContain(QUIRKY_CLIENT.secret);
    const { name: _name, kind: _kind, hasSecret, redirectUri: _uri, version: _version, settings, ...rest } = body;
    expect(hasSecret).toBe(true);
    const sent = await service.call('PUT', '/api/settings/identity-providers/oidc/op', {
      key: apiKey,
      body: { ...rest, ...settings },
      headers: { 'if-match': headers.get('etag') ?? '' },
    });
    expect(sent.body).toEqual({ ...body, version: body.version + 1 });
    person('masked');
    expect((await arrive(service, 'op')).status).toBe(303);
  });

  it('match claims exactly, without case folding, list splitting or inherited members (Gitea, MinIO)', async () => {
    for (const groups of ['Release', 'release,admins', ['rel', 'ease'], { release: true }]) {
      person('exact', { groups });
      expect((await arrive(service, 'op')).code).toBe('sso.no-role');
    }
    await put({ rules: [{ claim: 'constructor.name', op: 'equals', value: 'Object', roles: ['admin'] }] });
    person('inherited');
    expect((await arrive(service, 'op')).code).toBe('sso.no-role');
  });

  it('do not accept keys that a provider no longer publishes (stale keys)', async () => {
    const [old, next] = [await newProviderKey('RS256'), await newProviderKey('RS256')];
    provider.is({
      key: old,
      published: [next.jwk],
      claims: { sub: 'stale', email: 's@bugs.example', groups: ['release'] },
    });
    expect((await arrive(service, 'op')).code).toBe('sso.refused');
  });
});
