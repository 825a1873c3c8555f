import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import { randomUUID } from 'node:crypto';
import * as oidc from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GITHUB } from '../fakes/workload-claims.js';
import { WorkloadIssuer } from '../fakes/workload-issuer.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { digestOf, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { assertOAuthError, deviceGrant, postForm } from './oauth-calls.js';
import { atKnownAddress, me, PEERS_HERE, register } from './people.js';
import {
  authenticatedBy,
  type BoundCall,
  callWithProof,
  clientAssertion,
  dpopProof,
  type Pair,
  type ProofOptions,
  publicKey,
  Publisher,
  setOf,
} from './possession-calls.js';
import { AUDIENCE, exchange, JWT_BEARER, newTrust, trustIssuer } from './workload-calls.js';

const publisher = new Publisher();
const issuer = new WorkloadIssuer();
let stage: Stage;
let service: Service;
let other: Service;
let key: string;
let pair: Pair;
let next: Pair;

beforeAll(async () => {
  stage = await openStage();
  await issuer.start();
  ({ apiKey: key } = await stage.seed());
  const address = await atKnownAddress();
  service = await stage.start({ settings: { ...PEERS_HERE, ...address } });
  // Both processes have the same public address, as behind a proxy.
  other = await stage.start({ role: 'api', settings: { ...PEERS_HERE, SVC_PUBLIC_URL: service.url } });
  [pair, next] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
});
afterAll(async () => {
  publisher.stop();
  await issuer.stop();
  await stage.close();
});

async function newClient(order: object): Promise<string> {
  const body = { name: 'client with a key', permissions: ['sign:read'], ...order };
  const answer = await service.call('POST', '/api/settings/oauth-clients', { key, body });
  expect(answer.status).toBe(201);
  expect(answer.body).not.toHaveProperty('client_secret');
  return answer.body.client_id as string;
}

const assertionOf = (client: string, by = pair) => clientAssertion(service, client, by);
const byAssertion = (assertion: string, more: Record<string, string> = {}, at = service): Promise<Answer> =>
  postForm(at, '/oauth/token', {
    grant_type: 'client_credentials',
    ...authenticatedBy(assertion),
    ...more,
  });

describe('a client authenticating with its key (private_key_jwt)', () => {
  it('obtains, introspects and revokes a token with openid-client, using the metadata', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    const config = await oidc.discovery(new URL(service.url), client, undefined, oidc.PrivateKeyJwt(pair.privateKey), {
      algorithm: 'oauth2',
      execute: [oidc.allowInsecureRequests],
    });
    const metadata = config.serverMetadata();
    expect(metadata.token_endpoint_auth_methods_supported).toContain('private_key_jwt');
    expect(metadata.token_endpoint_auth_signing_alg_values_supported).toContain('ES256');
    const { access_token: token } = await oidc.clientCredentialsGrant(config);
    expect((await me(service, token)).body).toMatchObject({ kind: 'oauth-client', id: client, scopes: ['sign:read'] });
    expect(await oidc.tokenIntrospection(config, token)).toMatchObject({ active: true, client_id: client });
    await oidc.tokenRevocation(config, token);
    expect((await me(service, token)).status).toBe(401);
  });

  it('uses an assertion once: of ten concurrent uses in two processes, one is accepted', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    const assertion = await assertionOf(client);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => byAssertion(assertion, {}, i % 2 === 0 ? service : other)),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, ...Array<number>(9).fill(401)]);
    for (const answer of answers.filter(({ status }) => status === 401))
      assertOAuthError(answer, 401, 'invalid_client');
  });

  it('is rejected with another key, as another client, and together with a secret', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    assertOAuthError(await byAssertion(await assertionOf(client, next)), 401, 'invalid_client');
    assertOAuthError(await byAssertion(await assertionOf(randomUUID())), 401, 'invalid_client');
    const named = { client_id: randomUUID() };
    assertOAuthError(await byAssertion(await assertionOf(client), named), 401, 'invalid_client');
    assertOAuthError(await byAssertion(await assertionOf(client), { client_secret: 'x' }), 400, 'invalid_request');
    assertOAuthError(await byAssertion('no JWT'), 401, 'invalid_client');
    for (const type of ['', 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer'])
      assertOAuthError(
        await byAssertion(await assertionOf(client), { client_assertion_type: type }),
        400,
        'invalid_request',
      );
  });

  it('has no secret: it receives none, and is rejected with any and without', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    assertProblem(await service.call('POST', `/api/settings/oauth-clients/${client}/secret`, { key }), {
      status: 409,
      code: 'oauth-client.no-secret',
    });
    const grant = { grant_type: 'client_credentials', client_id: client };
    assertOAuthError(await postForm(service, '/oauth/token', grant), 401, 'invalid_client');
    assertOAuthError(
      await postForm(service, '/oauth/token', { ...grant, client_secret: 'sw_client_x' }),
      401,
      'invalid_client',
    );
  });

  it('can replace its keys, and the old ones end', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    const changed = await service.call('PUT', `/api/settings/oauth-clients/${client}/keys`, {
      key,
      body: { jwks: await setOf(next) },
    });
    expect(changed.status).toBe(200);
    assertOAuthError(await byAssertion(await assertionOf(client)), 401, 'invalid_client');
    expect((await byAssertion(await assertionOf(client, next))).status).toBe(200);
  });

  it('publishes its keys itself, a new key is found, and the change is audited', async () => {
    publisher.keys = [await publicKey(pair)];
    const client = await newClient({ jwks_uri: await publisher.start() });
    const obtained = await byAssertion(await assertionOf(client));
    expect((await me(service, obtained.body.access_token as string)).status).toBe(200);
    publisher.keys = [await publicKey(next)];
    // A client's keys are fetched at most once every 30 seconds.
    await stage.change(`UPDATE oauth_client SET keys_asked_at = now() - interval '1 minute' WHERE id = $1`, [client]);
    const renewed = await byAssertion(await assertionOf(client, next));
    assertOAuthError(await byAssertion(await assertionOf(client)), 401, 'invalid_client');
    // A token becomes invalid when the key with which it was obtained is no longer published.
    await until('the earlier token ends', 10, async () => {
      const { status } = await me(service, obtained.body.access_token as string);
      return status === 401;
    });
    expect((await me(service, renewed.body.access_token as string)).status).toBe(200);
    const changes = await stage.sql(
      `SELECT detail FROM audit_entry WHERE action = 'oauth-client.keys-changed' AND target_id = $1`,
      [client],
    );
    expect(changes).toMatchObject([{ detail: { added: [expect.any(String)], removed: [expect.any(String)] } }]);
  });

  it.each<[string, () => Promise<object> | object]>([
    ['both', async () => ({ jwks: await setOf(pair), jwks_uri: 'https://client.example.com/jwks' })],
    ['a private key', async () => ({ jwks: { keys: [await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)] } })], // prettier-ignore
    ['no key', () => ({ jwks: { keys: [] } })],
    ['an address inside', () => ({ jwks_uri: 'http://169.254.169.254/keys' })],
    ['an address that is none', () => ({ jwks_uri: 'file:///etc/passwd' })],
    ['keys of a public client', async () => ({ jwks: await setOf(pair), type: 'public' })],
  ])('cannot be created with %s', async (_what, order) => {
    const body = { name: 'client', permissions: ['sign:read'], ...(await order()) };
    assertProblem(await service.call('POST', '/api/settings/oauth-clients', { key, body }), {
      status: 422,
      code: 'oauth-client.keys',
    });
  });
});

const proofOf = (method: string, path: string, options: ProofOptions = {}) =>
  dpopProof(service, method, path, { by: pair, ...options });
const callBound = (method: string, path: string, token: string, options: BoundCall = {}) =>
  callWithProof(service, method, path, token, { by: pair, ...options });

const tokenEndpoint = async (parameters: Record<string, string>, by?: Pair): Promise<Answer> =>
  postForm(
    service,
    '/oauth/token',
    parameters,
    by === undefined ? {} : { dpop: await proofOf('POST', '/oauth/token', { by }) },
  );

/** Returns a token bound to `pair`, for a client that can obtain only bound tokens. */
async function boundToken(permissions = ['sign:digest', 'sign:read']): Promise<string> {
  const client = await newClient({ jwks: await setOf(pair), permissions, dpop_bound_access_tokens: true });
  const shown = authenticatedBy(await assertionOf(client));
  const { status, body } = await tokenEndpoint({ grant_type: 'client_credentials', ...shown }, pair);
  expect({ status, type: body.token_type }).toEqual({ status: 200, type: 'DPoP' });
  return body.access_token as string;
}

function assertRefused(answer: Answer, code: string, error: string): void {
  assertProblem(answer, { status: 401, code });
  expect(answer.headers.get('www-authenticate')).toMatch(new RegExp(`^DPoP .*error="${error}".*algs="[^"]*ES256`));
}

describe('a DPoP-bound token', () => {
  it('is obtained, used and introspected with openid-client', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    const config = await oidc.discovery(new URL(service.url), client, undefined, oidc.PrivateKeyJwt(pair.privateKey), {
      algorithm: 'oauth2',
      execute: [oidc.allowInsecureRequests],
    });
    expect(config.serverMetadata().dpop_signing_alg_values_supported).toContain('ES256');
    const keys = await oidc.randomDPoPKeyPair();
    const DPoP = oidc.getDPoPHandle(config, keys);
    const { access_token: token, token_type: type } = await oidc.clientCredentialsGrant(config, {}, { DPoP });
    expect(type).toBe('dpop');
    const address = new URL('/api/auth/me', service.url);
    const used = await oidc.fetchProtectedResource(config, token, address, 'GET', undefined, undefined, { DPoP });
    expect(await used.json()).toMatchObject({ id: client });
    const jkt = await calculateJwkThumbprint(await exportJWK(keys.publicKey));
    expect(await oidc.tokenIntrospection(config, token)).toMatchObject({ token_type: 'DPoP', cnf: { jkt } });
    await oidc.tokenRevocation(config, token);
    await expect(
      oidc.fetchProtectedResource(config, token, address, 'GET', undefined, undefined, { DPoP }),
    ).rejects.toMatchObject({ status: 401 });
  });

  it('is not accepted as a bearer token by any endpoint', async () => {
    const token = await boundToken();
    const basic = { authorization: `Basic ${Buffer.from(`any:${token}`).toString('base64')}` };
    const doors: [string, string, Record<string, string>][] = [
      ['GET', '/api/auth/me', {}],
      ['POST', '/api/v1/sign/digest', {}],
      ['GET', `/api/v1/sign/requests/${randomUUID()}/events`, {}],
      ['POST', '/api/ingest', {}],
      ['GET', '/v1/auth/token/lookup-self', { 'x-vault-token': token }],
      ['POST', '/v1/transit/sign/default', { 'x-vault-token': token }],
      ['POST', '/rest/v1/workers/default/process', basic],
    ];
    for (const [method, path, headers] of doors) {
      const sent = { authorization: `Bearer ${token}`, ...headers };
      const { status } = await service.call(method, path, {
        headers: sent,
        ...(method === 'POST' ? { body: {} } : {}),
      });
      expect({ path, status }).toEqual({ path, status: path.startsWith('/v1/') ? 403 : 401 });
    }
    assertRefused(await me(service, token), 'auth.token-binding', 'invalid_token');
    // A DPoP proof has no effect with the Bearer scheme.
    const headers = { authorization: `Bearer ${token}`, dpop: await proofOf('GET', '/api/auth/me', { token }) };
    assertRefused(await service.call('GET', '/api/auth/me', { headers }), 'auth.token-binding', 'invalid_token');
  });

  it('signs, streams events of its request, and is accepted from Vault clients', async () => {
    const token = await boundToken();
    const signed = await callBound('POST', '/api/v1/sign/digest', token, { body: { digest: digestOf('bound') } });
    expect(signed.status).toBe(200);
    const events = await callBound('GET', `/api/v1/sign/requests/${signed.body.requestId}/events`, token);
    expect(events.status).toBe(200);
    expect((await callBound('GET', '/v1/auth/token/lookup-self', token)).status).toBe(200);
  });

  it('is authorized before a large body and again after it, with one proof', async () => {
    const token = await boundToken(['inventory:report']);
    const body = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components: [] };
    const { status } = await callBound('POST', '/api/ingest', token, { body });
    expect([401, 403]).not.toContain(status);
  });
});

describe('a call with a DPoP-bound token', () => {
  it('accepts a proof once: of ten concurrent uses in two processes, one is accepted', async () => {
    const token = await boundToken();
    const proof = await proofOf('GET', '/api/auth/me', { token });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        callBound('GET', '/api/auth/me', token, { proof, at: i % 2 === 0 ? service : other }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, ...Array<number>(9).fill(401)]);
    const late = answers.find(({ status }) => status === 401);
    if (late !== undefined) assertRefused(late, 'auth.dpop-proof', 'invalid_dpop_proof');
  });

  it.each<[string, (token: string) => Promise<string> | string, string]>([
    ['of another method', (token) => proofOf('POST', '/api/auth/me', { token }), 'auth.dpop-proof'],
    ['of another address', (token) => proofOf('GET', '/api/auth/sessions', { token }), 'auth.dpop-proof'],
    ['of another token', () => proofOf('GET', '/api/auth/me', { token: 'another' }), 'auth.dpop-proof'],
    ['of no token', () => proofOf('GET', '/api/auth/me'), 'auth.dpop-proof'],
    ['that is ten minutes old', (token) => proofOf('GET', '/api/auth/me', { token, claims: { iat: Math.floor(Date.now() / 1000) - 600 } }), 'auth.dpop-proof'], // prettier-ignore
    ['that is none', () => 'x', 'auth.dpop-proof'],
    ['of another key', (token) => proofOf('GET', '/api/auth/me', { token, by: next }), 'auth.token-binding'],
  ])('is rejected with a proof %s', async (_what, made, code) => {
    const token = await boundToken();
    const answer = await callBound('GET', '/api/auth/me', token, { proof: await made(token) });
    assertRefused(answer, code, code === 'auth.dpop-proof' ? 'invalid_dpop_proof' : 'invalid_token');
  });

  it('is rejected without a proof, and with two', async () => {
    const token = await boundToken();
    const headers = { authorization: `DPoP ${token}` };
    assertRefused(await service.call('GET', '/api/auth/me', { headers }), 'auth.dpop-proof', 'invalid_dpop_proof');
    const twice = new Headers(headers);
    for (let i = 0; i < 2; i += 1) twice.append('dpop', await proofOf('GET', '/api/auth/me', { token }));
    const answer = await fetch(`${service.url}/api/auth/me`, { headers: twice });
    expect(answer.status).toBe(401);
  });
});

describe('issuing a DPoP-bound token', () => {
  it('requires a proof from a client that is registered for it', async () => {
    const client = await newClient({ jwks: await setOf(pair), dpop_bound_access_tokens: true });
    assertOAuthError(await byAssertion(await assertionOf(client)), 400, 'invalid_dpop_proof');
  });

  it('fails with a proof that is invalid or already used', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    const asked = async (dpop: string) =>
      postForm(
        service,
        '/oauth/token',
        { grant_type: 'client_credentials', ...authenticatedBy(await assertionOf(client)) },
        { dpop },
      );
    const proof = await proofOf('POST', '/oauth/token');
    expect((await asked(proof)).status).toBe(200);
    for (const wrong of [proof, 'x', await proofOf('GET', '/oauth/token'), await proofOf('POST', '/oauth/revoke')])
      assertOAuthError(await asked(wrong), 400, 'invalid_dpop_proof');
  });

  it('fails with a proof alone, which is not remembered because anybody can create any number of them', async () => {
    const proof = await proofOf('POST', '/oauth/token');
    const token = await issuer.sign({ ...GITHUB, iss: issuer.issuer, aud: AUDIENCE, iat: 1, exp: 2 });
    const [before] = await stage.sql<{ count: string }>('SELECT count(*) FROM used_proof');
    const device_code = 'x';
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const phone = await service.call('POST', '/api/settings/oauth-clients', {
      key,
      body: { name: 'phone', permissions: ['sign:read'], type: 'public' },
    });
    const tries: Record<string, string>[] = [
      { grant_type: JWT_BEARER, assertion: token },
      { grant_type: 'refresh_token', refresh_token: 'sw_refresh_x' },
      { grant_type, device_code, client_id: phone.body.client_id as string },
    ];
    for (const form of tries)
      assertOAuthError(await postForm(service, '/oauth/token', form, { dpop: proof }), 400, 'invalid_grant');
    expect((await stage.sql<{ count: string }>('SELECT count(*) FROM used_proof'))[0]).toEqual(before);
  });

  it('reserves the DPoP scheme: neither a bearer token nor an API key is accepted in it', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    const { body } = await byAssertion(await assertionOf(client));
    assertRefused(await callBound('GET', '/api/auth/me', body.access_token), 'auth.token-binding', 'invalid_token');
    expect((await callBound('GET', '/api/auth/me', key)).status).toBe(401);
  });

  it('refreshes with its own key only, and an attempt with another key consumes nothing', async () => {
    const { body: client } = await service.call('POST', '/api/settings/oauth-clients', {
      key,
      body: { name: 'command line', permissions: ['sign:read'], type: 'public' },
    });
    const { client_id } = client;
    const { body: codes } = await postForm(service, '/oauth/device_authorization', { client_id });
    const person = await register(service);
    await service.call('POST', `/api/auth/device/${codes.user_code}/approve`, { key: person.accessToken });
    const { body: first } = await tokenEndpoint(deviceGrant(client, codes.device_code), pair);
    expect(first.token_type).toBe('DPoP');
    const refresh = { grant_type: 'refresh_token', client_id, refresh_token: first.refresh_token };
    assertOAuthError(await tokenEndpoint(refresh), 400, 'invalid_dpop_proof');
    assertOAuthError(await tokenEndpoint(refresh, next), 400, 'invalid_grant');
    const { status, body } = await tokenEndpoint(refresh, pair);
    expect({ status, type: body.token_type }).toEqual({ status: 200, type: 'DPoP' });
    expect((await callBound('GET', '/api/auth/me', body.access_token)).status).toBe(200);
    assertRefused(await me(service, body.access_token), 'auth.token-binding', 'invalid_token');
  });

  it('can be required by a trust, and a call without a proof does not consume the workload token', async () => {
    const { id } = await trustIssuer({ service, key }, { issuer: issuer.issuer });
    await newTrust({ service, key }, id, { dpopBound: true });
    const token = await issuer.tokenFor(GITHUB, AUDIENCE);
    assertOAuthError(await exchange(service, token), 400, 'invalid_dpop_proof');
    const parameters = { grant_type: JWT_BEARER, assertion: token };
    const { body } = await tokenEndpoint(parameters, pair);
    expect(body.token_type).toBe('DPoP');
    expect((await callBound('GET', '/api/auth/me', body.access_token)).body).toMatchObject({ kind: 'workload' });
    assertRefused(await me(service, body.access_token), 'auth.token-binding', 'invalid_token');
  });
});
