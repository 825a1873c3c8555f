import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import * as oidc from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { assertOAuthError, postForm } from './oauth-calls.js';
import { atKnownAddress, me, PEERS_HERE } from './people.js';

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

/** Publishes the keys of a client. */
class Publisher {
  keys: object[] = [];
  private readonly server: Server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: this.keys }));
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/jwks.json`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

const publisher = new Publisher();
let stage: Stage;
let service: Service;
let other: Service;
let key: string;
let pair: Pair;
let next: Pair;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  const settings = { ...PEERS_HERE, ...(await atKnownAddress()) };
  service = await stage.start({ role: 'api', settings });
  const { SVC_PUBLIC_URL } = settings;
  other = await stage.start({ role: 'api', settings: { ...PEERS_HERE, SVC_PUBLIC_URL } });
  [pair, next] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
});
afterAll(async () => {
  publisher.stop();
  await stage.close();
});

const publicKey = async ({ publicKey: half }: Pair) => ({ ...(await exportJWK(half)) });
const setOf = async (one: Pair) => ({ keys: [await publicKey(one)] });

async function newClient(order: object): Promise<string> {
  const body = { name: 'client with a key', permissions: ['sign:read'], ...order };
  const answer = await service.call('POST', '/api/settings/oauth-clients', { key, body });
  expect(answer.status).toBe(201);
  expect(answer.body).not.toHaveProperty('client_secret');
  return answer.body.client_id as string;
}

function assertionOf(client: string, { privateKey } = pair, claims: JWTPayload = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: client, sub: client, aud: service.url, jti: randomUUID(), iat: now, exp: now + 60 };
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
}

const byAssertion = (assertion: string, more: Record<string, string> = {}, at = service): Promise<Answer> =>
  postForm(at, '/oauth/token', {
    grant_type: 'client_credentials',
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: assertion,
    ...more,
  });

describe('a client that authenticates by its key (private_key_jwt)', () => {
  it('gets, inspects and ends a token with openid-client, which reads from the metadata how', async () => {
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

  it('uses an assertion once: of ten at once, on two processes, one is accepted', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    const assertion = await assertionOf(client);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => byAssertion(assertion, {}, i % 2 === 0 ? service : other)),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array<number>(9).fill(401)]);
    for (const answer of answers.filter(({ status }) => status === 401)) assertOAuthError(answer, 401, 'invalid_client');
  });

  it('is refused with another key, as another client, and together with a secret', async () => {
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

  it('has no secret: it gets none, and is refused with any and without', async () => {
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

  it('gets other keys, and the old ones end', async () => {
    const client = await newClient({ jwks: await setOf(pair) });
    const changed = await service.call('PUT', `/api/settings/oauth-clients/${client}/keys`, {
      key,
      body: { jwks: await setOf(next) },
    });
    expect(changed.status).toBe(200);
    assertOAuthError(await byAssertion(await assertionOf(client)), 401, 'invalid_client');
    expect((await byAssertion(await assertionOf(client, next))).status).toBe(200);
  });

  it('publishes its keys itself, where a new one is found, and the change is audited', async () => {
    publisher.keys = [await publicKey(pair)];
    const client = await newClient({ jwks_uri: await publisher.start() });
    expect((await byAssertion(await assertionOf(client))).status).toBe(200);
    publisher.keys = [await publicKey(next)];
    // Nobody is asked twice within half a minute.
    await stage.sql(`UPDATE oauth_client SET keys_asked_at = now() - interval '1 minute' WHERE id = $1`, [client]);
    expect((await byAssertion(await assertionOf(client, next))).status).toBe(200);
    assertOAuthError(await byAssertion(await assertionOf(client)), 401, 'invalid_client');
    const { body } = await service.call('GET', '/api/v1/audit/entries?action=oauth-client.keys-changed', { key });
    expect(body.items).toMatchObject([{ target: { id: client }, detail: { added: [expect.any(String)] } }]);
  });

  it.each<[string, () => Promise<object> | object]>([
    ['both', async () => ({ jwks: await setOf(pair), jwks_uri: 'https://client.example.com/jwks' })],
    ['a private key', async () => ({ jwks: { keys: [await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)] } })], // prettier-ignore
    ['no key', () => ({ jwks: { keys: [] } })],
    ['an address inside', () => ({ jwks_uri: 'http://169.254.169.254/keys' })],
    ['an address that is none', () => ({ jwks_uri: 'file:///etc/passwd' })],
    ['keys of a public client', async () => ({ jwks: await setOf(pair), type: 'public' })],
  ])('is not made with %s', async (_what, order) => {
    const body = { name: 'client', permissions: ['sign:read'], ...(await order()) };
    assertProblem(await service.call('POST', '/api/settings/oauth-clients', { key, body }), {
      status: 422,
      code: 'oauth-client.keys',
    });
  });
});
