import { SignJWT } from 'jose';
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newProviderKey, QUIRKY_CLIENT, type Quirks } from '../fakes/quirky-openid-provider.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer } from '../support/service.js';
import { Browser } from './browser.js';
import { postForm } from './oauth-calls.js';
import { openQuirkyStage, type QuirkyStage } from './quirky-calls.js';

let place: QuirkyStage;
let stage: QuirkyStage['stage'];
let service: QuirkyStage['service'];
let apiKey: string;
let provider: QuirkyStage['provider'];
let serial = 0;
let name = '';

beforeAll(async () => {
  place = await openQuirkyStage();
  ({ stage, service, apiKey, provider } = place);
});
afterAll(() => place.close());
beforeEach(() => {
  // Each test uses a new provider name, because the service caches each provider's metadata and keys.
  serial += 1;
  name = `p${serial}`;
});

const CLAIMS = { email: 'ann@example.org', groups: ['release'] };

function put(change: object = {}): Promise<Answer> {
  const { id, secret } = QUIRKY_CLIENT;
  const rules = [{ claim: 'groups', op: 'equals', value: 'release', roles: ['operator'] }];
  const body = { label: 'x', enabled: true, rules, issuer: provider.origin, clientId: id, clientSecret: secret };
  return service.call('PUT', `/api/settings/identity-providers/oidc/${name}`, {
    key: apiKey,
    body: { ...body, ...change },
  });
}

const begin = () => `${service.url}/api/auth/oidc/login?provider=${name}`;
const isOurs = (url: string) => url.startsWith(`${service.url}/api/auth/oidc/callback`);

/** Signs in. @returns 303 if a ticket was issued, or the status and problem of the refusal */
async function signIn(): Promise<{ status: number; code: string; detail: string }> {
  const browser = new Browser();
  const at = await browser.follow(begin(), isOurs);
  const response = isOurs(at.url) ? await browser.request(at.url) : at.response;
  if (response.status === 303) return { status: 303, code: '', detail: '' };
  const { code = '', detail = '' } = (await response.json()) as { code?: string; detail?: string };
  return { status: response.status, code, detail };
}

/** Returns the result of the provider's connection test and the status of an actual sign-in. */
async function works(quirks: Partial<Quirks>, change: object = {}): Promise<{ test: boolean; signIn: number }> {
  provider.is({ ...quirks, claims: { sub: name, ...CLAIMS, email: `${name}@example.org`, ...quirks.claims } });
  expect(await put(change)).toMatchObject({ status: 200 });
  const tested = await service.call('POST', `/api/settings/identity-providers/test/${name}`, { key: apiKey });
  return { test: tested.body.ok as boolean, signIn: (await signIn()).status };
}

const GOOD = { test: true, signIn: 303 };
const BAD = { test: false, signIn: 503 };

describe('OIDC client authentication', () => {
  it.each(['client_secret_basic', 'client_secret_post', 'client_secret_jwt'])(
    'uses %s if the provider accepts nothing else, whatever the secret contains',
    async (method) => {
      expect(await works({ method })).toEqual(GOOD);
      expect(provider.seen).toEqual([method]);
    },
  );

  it('uses Basic if the provider does not state a method', async () => {
    expect(await works({ document: { token_endpoint_auth_methods_supported: undefined } })).toEqual(GOOD);
    expect(provider.seen).toEqual(['client_secret_basic']);
  });

  it('switches to the request body permanently if the provider lists both but accepts only that', async () => {
    const document = { token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'] };
    expect(await works({ method: 'client_secret_post', document })).toEqual(GOOD);
    expect((await signIn()).status).toBe(303);
    expect(provider.seen).toEqual(['client_secret_basic', 'client_secret_post', 'client_secret_post']);
  });

  it('uses none for a client without a secret', async () => {
    expect(await works({ method: 'none' }, { clientSecret: undefined })).toEqual(GOOD);
    expect(provider.seen).toEqual(['none']);
    expect(provider.asked[0]?.get('code_challenge_method')).toBe('S256');
  });

  it.each([undefined, 'issuer'])(
    'uses a key that the service generates and publishes (audience %s)',
    async (audience) => {
      const clientKeys = `${service.url}/api/auth/oidc/jwks?provider=${name}`;
      const change = { clientSecret: undefined, clientAuthentication: 'private_key_jwt', assertionAudience: audience };
      expect(await works({ method: 'private_key_jwt', clientKeys }, change)).toEqual(GOOD);
      const [first] = (await service.call('GET', `/api/auth/oidc/jwks?provider=${name}`)).body.keys;
      expect(first).toMatchObject({ kty: 'RSA', use: 'sig', alg: 'RS256', kid: first['x5t#S256'] });
      expect(first).not.toHaveProperty('d');
      const certificate = new X509Certificate(Buffer.from(first.x5c[0] as string, 'base64'));
      expect(certificate.verify(certificate.publicKey)).toBe(true);
      const rows = await stage.sql<{ text: string }>(
        `SELECT p::text || encode(secret, 'escape') AS text FROM identity_provider p WHERE name = $1`,
        [name],
      );
      expect(rows[0]?.text).not.toContain('PRIVATE KEY');
      expect((await put({ ...change, newKey: true })).status).toBe(200);
      const [second] = (await service.call('GET', `/api/auth/oidc/jwks?provider=${name}`)).body.keys;
      expect(second.kid).not.toBe(first.kid);
      expect((await signIn()).status).toBe(303);
    },
  );

  it('never derives a client secret from the key, nor requests a missing one', async () => {
    provider.is({});
    const byKey = { clientSecret: undefined, clientAuthentication: 'private_key_jwt' };
    expect((await put(byKey)).status).toBe(200);
    const missing = { status: 422, code: 'identity-provider.client-secret', pointer: '/clientSecret' };
    assertProblem(await put({ clientSecret: undefined, clientAuthentication: 'client_secret_post' }), missing);
    assertProblem(await put({ clientAuthentication: 'private_key_jwt' }), missing);
    assertProblem(await put({ clientAuthentication: 'none' }), missing);
    expect((await put({ clientSecret: undefined })).status).toBe(200);
    const [row] = await stage.sql<{ secret: Buffer | null }>(`SELECT secret FROM identity_provider WHERE name = $1`, [
      name,
    ]);
    expect(row?.secret).toBeNull();
    expect((await service.call('GET', `/api/auth/oidc/jwks?provider=${name}`)).body).toEqual({ keys: [] });
  });

  it('reports an impossible method in the test', async () => {
    expect(await works({ method: 'private_key_jwt' })).toEqual(BAD);
    const { body } = await service.call('POST', `/api/settings/identity-providers/test/${name}`, { key: apiKey });
    expect(body.findings[0].detail).toContain('private_key_jwt');
  });
});

describe('a pushed authorization request (RFC 9126)', () => {
  it('is used if the provider requires it, with no parameters in the URL', async () => {
    expect(await works({ isPushed: true })).toEqual(GOOD);
    expect(provider.seen).toEqual(['client_secret_basic', 'client_secret_basic']);
    expect(provider.asked.map((query) => [...query.keys()].sort())).toEqual([['client_id', 'request_uri']]);
  });

  it('is authenticated with the method of the client', async () => {
    const methods = ['client_secret_basic', 'client_secret_post'];
    const document = { token_endpoint_auth_methods_supported: methods };
    expect(await works({ isPushed: true, method: 'client_secret_post', document })).toEqual(GOOD);
    provider.is({ isPushed: true, method: 'client_secret_jwt', document });
    expect(await signIn()).toMatchObject({ status: 401, code: 'sso.refused' });
  });
});

describe('the OIDC issuer', () => {
  const realm = '/realms/main';
  it.each<[string, Partial<Quirks>, (origin: string) => string]>([
    ['a slash too many', {}, (origin) => `${origin}/`],
    ['a slash too few', { path: '/' }, (origin) => origin],
    [
      'a slash too few behind a path',
      { path: `${realm}/`, wellKnown: `${realm}/.well-known/openid-configuration` },
      (origin) => `${origin}${realm}`,
    ],
    [
      'the address of its document',
      { path: realm, wellKnown: `${realm}/.well-known/openid-configuration` },
      (origin) => `${origin}${realm}/.well-known/openid-configuration`,
    ],
    ['scheme and blanks as people type them', {}, (origin) => `  ${origin.replace('http', 'HTTP')} `],
    [
      'its document where RFC 8414 has it',
      { path: realm, wellKnown: `/.well-known/oauth-authorization-server${realm}` },
      (origin) => `${origin}${realm}`,
    ],
    [
      'its document before the path',
      { path: realm, wellKnown: `/.well-known/openid-configuration${realm}` },
      (origin) => `${origin}${realm}`,
    ],
  ])('is the one that the provider states: %s', async (_, quirks, typed) => {
    expect(await works(quirks, { issuer: typed(provider.origin) })).toEqual(GOOD);
    expect((await put({ issuer: provider.origin + (quirks.path ?? '') })).status).toBe(200);
  });

  it.each<[string, Partial<Quirks>]>([
    ['another host', { document: { issuer: 'https://elsewhere.example' } }],
    ['another path', { document: { issuer: 'http://127.0.0.1/realms/other' } }],
    ['no text', { document: { issuer: 7 } }],
    ['no address of its token endpoint', { document: { token_endpoint: undefined } }],
    ['a script where people are sent', { document: { authorization_endpoint: 'javascript:alert(1)' } }],
    ['no document', { wellKnown: '/nowhere' }],
  ])('is rejected by test and sign-in when false: %s', async (_, quirks) => {
    expect(await works(quirks)).toEqual(BAD);
  });

  it('is rejected with a user name, a password or a fragment', async () => {
    for (const issuer of ['https://ann:secret@idp.example', 'https://idp.example/#x'])
      assertProblem(await put({ issuer }), { status: 400, code: 'request.invalid', pointer: '/issuer' });
  });
});

describe('OIDC ID tokens', () => {
  it.each(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'])('may be signed with %s', async (alg) => {
    const key = await newProviderKey(alg);
    expect(await works({ key, published: [key.jwk] })).toEqual(GOOD);
  });

  it('may lack an algorithm in the discovery document', async () => {
    const key = await newProviderKey('ES256');
    const document = { id_token_signing_alg_values_supported: undefined };
    expect(await works({ key, published: [key.jwk], document })).toEqual(GOOD);
  });

  it('may name no key, or a key without an ID, among several', async () => {
    const [key, other, sealing] = await Promise.all([
      newProviderKey('RS256'),
      newProviderKey('RS256'),
      newProviderKey('RS256', { use: 'enc' }),
    ]);
    const { kid: _, ...nameless } = key.jwk;
    const published = [sealing.jwk, other.jwk, key.jwk, { kty: 'AKP' }];
    expect(await works({ key, published, namesKey: false })).toEqual(GOOD);
    name += 'b';
    expect(await works({ key, published: [other.jwk, nameless] })).toEqual(GOOD);
  });

  it('may be signed with a key published a moment ago', async () => {
    expect(await works({})).toEqual(GOOD);
    const key = await newProviderKey('RS256');
    provider.is({ key, published: [key.jwk], claims: { sub: name, ...CLAIMS } });
    expect((await signIn()).status).toBe(303);
  });

  it('trigger a key fetch at most once every five seconds, whatever tokens strangers send', async () => {
    expect(await works({})).toEqual(GOOD);
    provider.keysRead = 0;
    for (const kid of ['a', 'b', 'c', 'd']) {
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
      const token = new SignJWT({ iss: provider.issuer, aud: QUIRKY_CLIENT.id, sub: 'x', jti: kid, events });
      const { privateKey } = await newProviderKey('RS256');
      const signed = await token.setIssuedAt().setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
      const answer = await postForm(service, '/api/auth/oidc/backchannel-logout', { logout_token: signed });
      assertProblem(answer, { status: 400, code: 'sso.logout-token' });
    }
    expect(provider.keysRead).toBe(1);
  });

  it('may be up to 30 seconds ahead of the local clock', async () => {
    const now = Math.floor(Date.now() / 1000);
    expect(await works({ claims: { iat: now + 20, nbf: now + 20, exp: now + 300 } })).toEqual(GOOD);
  });

  it.each<[string, (other: Awaited<ReturnType<typeof newProviderKey>>) => Partial<Quirks>]>([
    ['another key', (key) => ({ published: [key.jwk] })],
    ['another issuer', () => ({ claims: { iss: 'https://elsewhere.example' } })],
    ['another nonce', () => ({ claims: { nonce: 'of-another-attempt' } })],
    ['another audience', () => ({ claims: { aud: 'somebody-else' } })],
    ['an end in the past', () => ({ claims: { exp: Math.floor(Date.now() / 1000) - 60 } })],
    ['another issuer in the answer', () => ({ iss: 'https://elsewhere.example' })],
    ['userinfo of somebody else', () => ({ userinfo: { sub: 'somebody-else' } })],
  ])('are rejected with %s', async (_, quirks) => {
    provider.is({ claims: CLAIMS });
    await put();
    const change = quirks(await newProviderKey('RS256'));
    provider.is({ ...change, claims: { ...CLAIMS, ...change.claims } });
    expect(await signIn()).toMatchObject({ status: 401, code: 'sso.refused' });
  });
});

describe('OIDC claims', () => {
  it('may come from userinfo only', async () => {
    const claims = { email: undefined, groups: undefined };
    const userinfo = { sub: 'u-1', email: 'by-userinfo@example.org', groups: 'release', email_verified: 'true' };
    expect(await works({ claims: { ...claims, sub: 'u-1' }, userinfo })).toEqual(GOOD);
  });

  it('may be nested, and may be booleans', async () => {
    const rule = (claim: string, value: string) => ({ claim, op: 'equals', value, roles: ['operator'] });
    const nested = {
      groups: undefined,
      realm_access: { roles: ['staff', 'signer'] },
      'https://example.com/roles': 'a',
    };
    expect(await works({ claims: nested }, { rules: [rule('realm_access.roles', 'signer')] })).toEqual(GOOD);
    name += 'b';
    expect(await works({ claims: { admin: true } }, { rules: [rule('admin', 'true')] })).toEqual(GOOD);
    name += 'c';
    expect(await works({ claims: nested }, { rules: [rule('https://example.com/roles', 'a')] })).toEqual(GOOD);
  });

  it('that the provider omitted because there are too many are reported', async () => {
    const claims = { ...CLAIMS, groups: undefined, _claim_names: { groups: 'src1' }, _claim_sources: {} };
    provider.is({ claims });
    await put({ defaultRoles: ['viewer'] });
    const answer = await signIn();
    expect(answer).toMatchObject({ status: 403, code: 'sso.claims-left-out' });
    expect(answer.detail).toContain('"groups"');
  });
});

describe('nonstandard provider responses', () => {
  it.each<[string, Partial<Quirks>]>([
    ['nulls in place of what is not there', { tokens: { refresh_token: null, scope: null, expires_in: null } }],
    ['an empty refresh token', { tokens: { refresh_token: '' } }],
    ['a list of scopes', { tokens: { scope: ['openid', 'email'] } }],
    ['no type of the token', { tokens: { token_type: undefined } }],
    ['a document with nulls', { document: { scopes_supported: null, token_endpoint_auth_methods_supported: null } }],
    ['JSON that is called text', { contentType: 'text/plain; charset=utf-8' }],
  ])('are accepted in this form: %s', async (_, quirks) => {
    expect(await works(quirks)).toEqual(GOOD);
  });

  it('are rejected from the token endpoint without tokens', async () => {
    for (const tokens of [{ access_token: null }, { id_token: null }, { id_token: 'x' }]) {
      provider.is({ tokens, claims: CLAIMS });
      await put();
      expect(await signIn()).toMatchObject({ status: 401, code: 'sso.refused' });
    }
  });

  it('may be signed, for userinfo, by a provider key and about this person', async () => {
    const { key } = provider.quirks;
    const claims = { email: undefined, groups: undefined, sub: 'u-2' };
    const userinfo = { sub: 'u-2', email: 'signed@example.org', groups: ['release'] };
    expect(await works({ claims, userinfo, userinfoKey: key })).toEqual(GOOD);
    const stranger = await newProviderKey('RS256', { kid: key.jwk.kid });
    for (const [other, more] of [
      [stranger, {}],
      [key, { sub: 'somebody-else' }],
      [key, { aud: 'somebody-else' }],
      [key, { iss: 'https://elsewhere.example' }],
    ] as const)
      expect(await works({ claims, userinfo: { ...userinfo, ...more }, userinfoKey: other })).toMatchObject({
        signIn: 401,
      });
  });

  it('are logged with their status if userinfo fails', async () => {
    expect(await works({ userinfo: { sub: name }, userinfoStatus: 403 })).toMatchObject({ signIn: 401 });
    expect(service.log()).toMatch(
      new RegExp(`rejected the response of identity provider ${name}: .*the userinfo endpoint responded with 403`),
    );
  });
});

describe('an error from the provider is shown verbatim', () => {
  it('from the authorization endpoint, on one line', async () => {
    provider.is({ refusal: { error: 'invalid_scope', error_description: 'unknown\r\nscope: groups\u001b[31m' } });
    await put();
    const { status, detail } = await signIn();
    expect({ status, detail }).toEqual({
      status: 401,
      detail: 'The identity provider refused the sign-in: invalid_scope: unknown scope: groups [31m',
    });
  });

  it('from the token endpoint', async () => {
    provider.is({
      method: 'client_secret_jwt',
      document: { token_endpoint_auth_methods_supported: ['client_secret_post'] },
    });
    await put();
    expect((await signIn()).detail).toBe(
      'The identity provider refused the sign-in: invalid_client: registered for client_secret_jwt',
    );
  });
});
