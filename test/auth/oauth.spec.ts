import * as oidc from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessToken, newApiKey } from '../support/access.js';
import type { Service } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { assertOAuthError, type Client, deviceGrant, makeClient, type Parameters, postForm } from './oauth-calls.js';
import { atKnownAddress, me, register } from './people.js';

let stage: Stage;
let service: Service;
let other: Service;
let apiKey: string;
let adminToken: string;

beforeAll(async () => {
  stage = await openStage();
  const seeded = await stage.seed();
  apiKey = seeded.apiKey;
  service = await stage.start({ role: 'api', settings: await atKnownAddress() });
  other = await stage.start({ role: 'api' });
  adminToken = await accessToken(service, seeded.adminEmail, seeded.adminPassword);
});
afterAll(() => stage.close());

const newClient = (permissions: string[], type?: string): Promise<Client> =>
  makeClient(service, apiKey, permissions, type);

/** Configures openid-client with only the service's address. The library must discover all other settings. */
function discovered(client: Client, authentication: oidc.ClientAuth): Promise<oidc.Configuration> {
  return oidc.discovery(new URL(service.url), client.client_id, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [oidc.allowInsecureRequests],
  });
}

const form = (path: string, parameters: Parameters, headers?: Record<string, string>) =>
  postForm(service, path, parameters, headers);

describe('openid-client as an OAuth client', () => {
  it.each([
    ['in the body', (secret: string) => oidc.ClientSecretPost(secret)],
    ['by Basic', (secret: string) => oidc.ClientSecretBasic(secret)],
  ])('obtains a token for its credentials, %s', async (_, authentication) => {
    const client = await newClient(['sign:digest', 'sign:read']);
    const config = await discovered(client, authentication(client.client_secret));
    const tokens = await oidc.clientCredentialsGrant(config, { scope: 'sign:digest' });
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'sign:digest' });
    expect(tokens.refresh_token).toBeUndefined();
    const caller = await me(service, tokens.access_token);
    expect(caller.body).toMatchObject({ kind: 'oauth-client', id: client.client_id, scopes: ['sign:digest'] });
    const signed = await sign(service, { key: tokens.access_token, body: { digest: digestOf('by a client') } });
    expect(signed.status).toBe(200);
  });

  it('introspects a token, revokes it, and introspects again', async () => {
    const client = await newClient(['sign:read']);
    const config = await discovered(client, oidc.ClientSecretBasic(client.client_secret));
    const { access_token: token } = await oidc.clientCredentialsGrant(config);
    expect(await oidc.tokenIntrospection(config, token)).toMatchObject({
      active: true,
      scope: 'sign:read',
      client_id: client.client_id,
      sub: client.client_id,
    });
    expect((await me(other, token)).status).toBe(200);
    await oidc.tokenRevocation(config, token);
    expect(await oidc.tokenIntrospection(config, token)).toEqual({ active: false });
    expect((await me(service, token)).status).toBe(401);
    await until('the other process refuses it', 5, async () => (await me(other, token)).status === 401);
  });

  it('runs the device flow: slow_down, approval, tokens, refresh, and revocation by an old refresh token', async () => {
    const client = await newClient(['sign:digest', 'sign:read', 'admin:*'], 'public');
    const config = await discovered(client, oidc.None());
    const device = await oidc.initiateDeviceAuthorization(config, { scope: 'sign:read sign:digest' });
    expect(device).toMatchObject({ expires_in: 300, interval: 5 });
    const poll = () => form('/oauth/token', deviceGrant(client, device.device_code));
    assertOAuthError(await poll(), 400, 'authorization_pending');
    assertOAuthError(await poll(), 400, 'slow_down');
    const person = await register(service);
    const place = `/api/auth/device/${device.user_code}`;
    const waiting = await service.call('GET', place, { key: person.accessToken });
    // A viewer cannot sign, so a device that a viewer approves cannot sign either.
    expect(waiting.body).toMatchObject({ scopes: ['sign:read'] });
    expect((await service.call('POST', `${place}/approve`, { key: person.accessToken })).status).toBe(204);
    const tokens = await oidc.pollDeviceAuthorizationGrant(config, { ...device, interval: 0 });
    expect(tokens.scope).toBe('sign:read');
    expect((await me(service, tokens.access_token)).body).toMatchObject({ name: person.email, scopes: ['sign:read'] });
    assertOAuthError(await poll(), 400, 'invalid_grant');
    const next = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '');
    expect(next.refresh_token).not.toBe(tokens.refresh_token);
    await expect(oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    await expect(oidc.refreshTokenGrant(config, next.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    expect((await me(service, next.access_token)).status).toBe(401);
  });
});

describe('/oauth/token', () => {
  it('accepts the two example requests of the specification', async () => {
    const client = await newClient(['hosts:read']);
    const json = await service.call('POST', '/oauth/token', {
      body: { grant_type: 'client_credentials', client_id: client.client_id, client_secret: client.client_secret },
    });
    expect(json.status).toBe(200);
    expect(json.body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'hosts:read' });
    expect(json.headers.get('cache-control')).toBe('no-store');
    const { refreshToken } = await register(service);
    const refreshed = await form('/oauth/token', { grant_type: 'refresh_token', refresh_token: refreshToken });
    expect(refreshed.body).toMatchObject({ token_type: 'Bearer', expires_in: 3600 });
    const inJson = await service.call('POST', '/oauth/token', {
      body: { grant_type: 'refresh_token', refresh_token: refreshed.body.refresh_token },
    });
    expect(inJson.status).toBe(200);
  });

  it('rejects malformed requests in the standard error format', async () => {
    const { client_id, client_secret } = await newClient(['hosts:read']);
    const good = { grant_type: 'client_credentials', client_id, client_secret };
    const json = (body: unknown) => service.call('POST', '/oauth/token', { body });
    assertOAuthError(await json({}), 400, 'invalid_request');
    assertOAuthError(await json('[]'), 400, 'invalid_request');
    assertOAuthError(await json('{"grant_type":'), 400, 'invalid_request');
    assertOAuthError(await json({ ...good, scope: ['hosts:read'] }), 400, 'invalid_request');
    assertOAuthError(await json({ ...good, grant_type: 'password' }), 400, 'unsupported_grant_type');
    assertOAuthError(await json({ ...good, scope: 'hosts:write' }), 400, 'invalid_scope');
    assertOAuthError(await json({ ...good, scope: 'nonsense' }), 400, 'invalid_scope');
    assertOAuthError(await json({ grant_type: 'client_credentials' }), 401, 'invalid_client');
    assertOAuthError(await form('/oauth/token', 'grant_type=refresh_token&refresh_token='), 400, 'invalid_request');
    assertOAuthError(await json({ grant_type: 'refresh_token', refresh_token: 'nonsense' }), 400, 'invalid_grant');
  });

  it('rejects a duplicate parameter, in both formats', async () => {
    const { client_id, client_secret } = await newClient(['hosts:read']);
    const twice = `grant_type=client_credentials&client_id=${client_id}&client_secret=${client_secret}&scope=hosts:read&scope=hosts:read`;
    assertOAuthError(await form('/oauth/token', twice), 400, 'invalid_request');
    const json = `{"grant_type":"client_credentials","client_id":"${client_id}","client_secret":"x","client_secret":"${client_secret}"}`;
    assertOAuthError(await service.call('POST', '/oauth/token', { body: json }), 400, 'invalid_request');
    const quoted = `{"grant_type":"client_credentials","client_id":"${client_id}","client_secret":"${client_secret}","note":"a \\"quoted\\" word"}`;
    expect((await service.call('POST', '/oauth/token', { body: quoted })).status).toBe(200);
  });

  it('rejects a client with a wrong, missing or duplicate secret, and an unknown client', async () => {
    const { client_id, client_secret } = await newClient(['hosts:read']);
    const grant = { grant_type: 'client_credentials' };
    const basic = (id: string, secret: string) => ({
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
    });
    const wrong = await form('/oauth/token', grant, basic(client_id, `${client_secret}0`));
    assertOAuthError(wrong, 401, 'invalid_client');
    expect(wrong.headers.get('www-authenticate')).toBe('Basic realm="sealwright"');
    assertOAuthError(await form('/oauth/token', { ...grant, client_id }), 401, 'invalid_client');
    assertOAuthError(await form('/oauth/token', grant, basic('nobody', 'x')), 401, 'invalid_client');
    assertOAuthError(await form('/oauth/token', grant, { authorization: 'Basic ???' }), 401, 'invalid_client');
    const both = await form('/oauth/token', { ...grant, client_id, client_secret }, basic(client_id, client_secret));
    assertOAuthError(both, 400, 'invalid_request');
    expect((await form('/oauth/token', grant, basic(client_id, client_secret))).status).toBe(200);
  });

  it('accepts forms only at this endpoint, because a page of another site could send one elsewhere', async () => {
    const login = await form('/api/auth/login', { email: 'a@example.org', password: 'x' });
    expect(login.status).toBe(415);
  });

  it('does not issue a public client a token of its own', async () => {
    const { client_id } = await newClient(['hosts:read'], 'public');
    assertOAuthError(
      await form('/oauth/token', { grant_type: 'client_credentials', client_id }),
      400,
      'unauthorized_client',
    );
  });

  it('refreshes tokens of a client, and lets nobody else end its session', async () => {
    const client = await newClient(['sign:read'], 'public');
    const { body } = await form('/oauth/device_authorization', { client_id: client.client_id });
    const person = await register(service);
    await service.call('POST', `/api/auth/device/${body.user_code}/approve`, { key: person.accessToken });
    const tokens = (await form('/oauth/token', deviceGrant(client, body.device_code))).body;
    const thief = await newClient(['sign:read'], 'public');
    const use = (extra: Record<string, string>) =>
      form('/oauth/token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, ...extra });
    assertOAuthError(await use({ client_id: client.client_id, scope: 'sign:read admin:*' }), 400, 'invalid_scope');
    expect((await use({ client_id: client.client_id })).status).toBe(200);
    const revoke = await form('/oauth/revoke', { token: tokens.access_token });
    assertOAuthError(revoke, 401, 'invalid_client');
    await form('/oauth/revoke', { token: tokens.access_token, client_id: thief.client_id });
    expect((await me(service, tokens.access_token)).status).toBe(200);
  });
});

describe('OAuth clients', () => {
  it('cannot be granted more than their creator holds', async () => {
    const { key } = await newApiKey(service, apiKey, ['settings:write', 'sign:read']);
    const answer = await service.call('POST', '/api/settings/oauth-clients', {
      key,
      body: { name: 'climber', permissions: ['admin:*'] },
    });
    expect(answer).toMatchObject({ status: 403, body: { code: 'oauth-client.beyond-caller' } });
  });

  it('are revoked with their tokens, in every process within five seconds', async () => {
    const client = await newClient(['sign:read']);
    const grant = {
      grant_type: 'client_credentials',
      client_id: client.client_id,
      client_secret: client.client_secret,
    };
    const { access_token: token } = (await form('/oauth/token', grant)).body;
    for (const process of [service, other]) expect((await me(process, token)).status).toBe(200);
    const gone = await service.call('DELETE', `/api/settings/oauth-clients/${client.client_id}`, { key: adminToken });
    expect(gone.status).toBe(204);
    assertOAuthError(await form('/oauth/token', grant), 401, 'invalid_client');
    for (const process of [service, other]) {
      await until('the token is refused', 5, async () => (await me(process, token)).status === 401);
    }
  });

  it('can rotate their secret, which ends the old one', async () => {
    const client = await newClient(['sign:read']);
    const path = `/api/settings/oauth-clients/${client.client_id}/secret`;
    const { body } = await service.call('POST', path, { key: apiKey });
    const grant = (secret: string) =>
      form('/oauth/token', { grant_type: 'client_credentials', client_id: client.client_id, client_secret: secret });
    assertOAuthError(await grant(client.client_secret), 401, 'invalid_client');
    expect((await grant(body.client_secret)).status).toBe(200);
  });

  it('never return a secret again, and store none', async () => {
    const client = await newClient(['sign:read']);
    const list = await service.call('GET', '/api/settings/oauth-clients', { key: apiKey });
    const random = client.client_secret.split('_')[2] ?? 'none';
    expect(JSON.stringify(list.body)).not.toContain(random);
    const [row] = await stage.sql<{ dump: string }>(`SELECT string_agg(c::text, ' ') AS dump FROM oauth_client c`);
    expect(row?.dump).not.toContain(random);
    expect(service.log()).not.toContain(random);
  });
});

describe('an invalid OAuth request body gets an RFC 6749 error', () => {
  const ENDPOINTS = ['token', 'revoke', 'introspect', 'device_authorization'];
  const FORM_BODY = 'grant_type=client_credentials&client_id=x&client_secret=y&token=z';

  it.each([
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
    'invalid/@@##',
    ';;;invalid;;;',
    'application/vnd.oauth+json',
    '',
  ])('if sent as %j', async (type) => {
    for (const endpoint of ENDPOINTS) {
      const answer = await fetch(`${service.url}/oauth/${endpoint}`, {
        method: 'POST',
        body: Buffer.from(FORM_BODY),
        headers: type === '' ? {} : { 'content-type': type },
      });
      const body = (await answer.json()) as Record<string, string>;
      assertOAuthError({ status: answer.status, body, headers: answer.headers }, 400, 'invalid_request');
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      expect(body['error_description']).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
    }
  });

  it.each(['', '{', '[]', 'null', '"x"', '{"token":1}', '{"token":"a","token":"b"}', '\uFEFF{"token":'])(
    'if it is the JSON %j',
    async (text) => {
      for (const endpoint of ENDPOINTS) {
        const headers = { 'content-type': 'application/json' };
        const answer = await service.call('POST', `/oauth/${endpoint}`, { body: text, headers });
        assertOAuthError(answer, 400, 'invalid_request');
      }
    },
  );

  it('if it is too large or compressed', async () => {
    const large = await form('/oauth/token', { grant_type: 'x'.repeat(20_000) });
    expect([large.status, large.body.error]).toEqual([413, 'invalid_request']);
    const packed = await form('/oauth/token', 'token=x', { 'content-encoding': 'gzip' });
    assertOAuthError(packed, 400, 'invalid_request');
  });

  it('if the method is not supported', async () => {
    const { status, body, headers } = await service.call('GET', '/oauth/token');
    expect([status, body.error, headers.get('allow')]).toEqual([405, 'invalid_request', 'POST']);
  });
});

it('trailing white space of a token or secret, as in files, is ignored', async () => {
  const { client_id, client_secret } = await newClient(['sign:read']);
  const answer = await form('/oauth/token', {
    grant_type: 'client_credentials',
    client_id,
    client_secret: `${client_secret}\r\n`,
  });
  expect(answer.status).toBe(200);
});
