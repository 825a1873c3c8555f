import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { GITHUB } from '../fakes/workload-claims.js';
import { WorkloadIssuer } from '../fakes/workload-issuer.js';
import type { Answer } from '../support/service.js';
import { until } from '../support/signing.js';
import { Browser } from './browser.js';
import { deviceGrant, makeClient, postForm } from './oauth-calls.js';
import { idOf, login, type Person, register } from './people.js';
import { arrive, CHIEFS_RULE, openQuirkyStage, personAt, putQuirky, type QuirkyStage, RELEASE_RULE, tokenFor } from './quirky-calls.js'; // prettier-ignore
import { AUDIENCE, exchange, newTrust, trustIssuer } from './workload-calls.js';

/** Tests calls that depend on a right or resource that is removed during the call. Each test holds a lock that blocks the call at the relevant step. */

let place: QuirkyStage;
let keeper: Client;
/** Server that responds only when the test releases the response. */
let slow: Server;
let held: ServerResponse[] = [];
const issuer = new WorkloadIssuer();

beforeAll(async () => {
  place = await openQuirkyStage();
  keeper = new Client({ connectionString: place.stage.databaseUrl });
  await keeper.connect();
  slow = createServer((_request, response) => void held.push(response)).listen(0, '127.0.0.1');
});
afterEach(async () => {
  held = [];
  await keeper.query('ROLLBACK');
});
afterAll(async () => {
  slow.closeAllConnections();
  slow.close();
  await keeper.end();
  await place.close();
  await issuer.stop();
});

const call = (method: string, path: string, options: object): Promise<Answer> =>
  place.service.call(method, path, options);

async function lock(statement: string, values: unknown[] = []): Promise<void> {
  await keeper.query('BEGIN');
  await keeper.query(statement, values);
}

const waiting = async (): Promise<number> => {
  const [row] = await place.stage.sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return row?.n ?? 0;
};
const untilWaiting = (count: number) => until(`${count} wait`, 30, async () => (await waiting()) >= count);

/** Resolves when the call has ended or when `count` sessions are waiting for locks. */
async function settledOrWaiting(answer: Promise<unknown>, count: number): Promise<void> {
  let isOver = false;
  const over = answer.finally(() => (isOver = true));
  await until('it ends or waits', 30, async () => isOver || (await waiting()) >= count);
  if (isOver) await over;
}

async function administrator(): Promise<Person & { readonly id: string }> {
  const person = await register(place.service);
  const id = await idOf(place.stage, person.email);
  const change = { key: place.apiKey, body: { roles: ['admin'] } };
  expect((await call('PATCH', `/api/settings/users/${id}`, change)).status).toBe(200);
  return { ...person, id };
}

const disable = (id: string) =>
  call('PATCH', `/api/settings/users/${id}`, { key: place.apiKey, body: { disabled: true } });

it('a ticket that is being exchanged gives no session after the rule that admitted the person was removed', async () => {
  const { service, apiKey, provider } = place;
  const put = (rules: object[]) => putQuirky(service, apiKey, { name: 'main', provider, change: { rules } });
  await put([RELEASE_RULE, CHIEFS_RULE]);
  personAt(provider, 'racer', ['chiefs']);
  const browser = new Browser();
  const arrival = await arrive(service, 'main', { browser });
  await lock('SELECT FROM identity_provider FOR UPDATE');
  const changed = put([RELEASE_RULE]);
  await untilWaiting(1);
  const exchanged = tokenFor(service, browser, arrival);
  await untilWaiting(2);
  await keeper.query('COMMIT');
  expect((await changed).status).toBe(200);
  expect((await exchanged)['access_token']).toBeUndefined();
});

it('sign-ins at a provider cannot overtake the change that disables the provider', async () => {
  const { service, apiKey, provider } = place;
  const change = { rules: [RELEASE_RULE] };
  await putQuirky(service, apiKey, { name: 'main', provider, change });
  personAt(provider, 'first', ['release']);
  let answer = () => {};
  provider.is({ ...provider.quirks, held: new Promise<void>((resolve) => (answer = resolve)) });
  const first = arrive(service, 'main');
  await until('the provider is asked', 30, () => Promise.resolve(provider.seen.length > 0));
  // The sign-in holds its locks on the provider until this lock is released.
  await lock('SELECT FROM sso_transaction FOR UPDATE');
  answer();
  await untilWaiting(1);
  const disabled = putQuirky(service, apiKey, { name: 'main', provider, change: { ...change, enabled: false } });
  await untilWaiting(2);
  personAt(provider, 'second', ['release']);
  const second = arrive(service, 'main');
  await settledOrWaiting(second, 3);
  await keeper.query('COMMIT');
  expect((await first).status).toBe(303);
  expect(await second).toMatchObject({ status: 401, code: 'sso.provider-changed' });
  expect((await disabled).status).toBe(200);
});

it('a device that is being approved gets no token after the sessions of the person have ended', async () => {
  const { service, stage, apiKey } = place;
  const person = await register(service);
  const other = (await login(service, person.email, person.password)).body.access_token as string;
  const client = await makeClient(service, apiKey, ['audit:read'], 'public');
  const { body } = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
  await lock('SELECT FROM device_authorization WHERE client_id = $1 FOR UPDATE', [client.client_id]);
  const approved = call('POST', `/api/auth/device/${body.user_code}/approve`, { key: person.accessToken });
  await untilWaiting(1);
  const ended = call('DELETE', '/api/auth/sessions', { key: other });
  await settledOrWaiting(ended, 2);
  await keeper.query('COMMIT');
  await approved;
  expect((await ended).status).toBe(204);
  const answer = await postForm(service, '/oauth/token', deviceGrant(client, body.device_code));
  expect(answer.body.error).toBe('access_denied');
  const sessions = await stage.sql(`SELECT FROM auth_session WHERE way = 'device' AND client_id = $1`, [client.client_id]); // prettier-ignore
  expect(sessions).toEqual([]);
});

it('a device that is being approved gets no token if the person signs out and is then disabled', async () => {
  const { service, apiKey } = place;
  const person = await register(service);
  const id = await idOf(place.stage, person.email);
  const client = await makeClient(service, apiKey, ['audit:read'], 'public');
  const { body } = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
  await lock('SELECT FROM device_authorization WHERE client_id = $1 FOR UPDATE', [client.client_id]);
  const approved = call('POST', `/api/auth/device/${body.user_code}/approve`, { key: person.accessToken });
  await untilWaiting(1);
  expect((await call('POST', '/api/auth/logout', { key: person.accessToken })).status).toBe(204);
  const disabled = disable(id);
  await settledOrWaiting(disabled, 2);
  await keeper.query('COMMIT');
  expect((await approved).status).toBe(204);
  expect((await disabled).status).toBe(200);
  const enabled = { key: apiKey, body: { disabled: false } };
  expect((await call('PATCH', `/api/settings/users/${id}`, enabled)).status).toBe(200);
  const answer = await postForm(service, '/oauth/token', deviceGrant(client, body.device_code));
  expect(answer.body.error).toBe('access_denied');
});

it('a client gets no token by its old secret while the secret is replaced, and does not delay the replacement', async () => {
  const { service, apiKey } = place;
  const client = await makeClient(service, apiKey, ['audit:read']);
  const { client_id: id, client_secret: secret } = client;
  const token = () =>
    postForm(service, '/oauth/token', { grant_type: 'client_credentials', client_id: id, client_secret: secret });
  const before = (await token()).body.access_token as string;
  await lock('SELECT FROM oauth_client WHERE id = $1 FOR SHARE', [id]);
  const replaced = call('POST', `/api/settings/oauth-clients/${id}/secret`, { key: apiKey });
  await untilWaiting(1);
  const late = token();
  await settledOrWaiting(late, 2);
  await keeper.query('COMMIT');
  const { status, body } = await replaced;
  expect(status).toBe(201);
  expect((await late).body).toMatchObject({ error: 'invalid_grant' });
  await until('the token of before is refused', 10, async () => (await entriesFor(before)) === 401);
  const grant = { grant_type: 'client_credentials', client_id: id, client_secret: body.client_secret as string };
  const after = await postForm(service, '/oauth/token', grant);
  expect(await entriesFor(after.body.access_token as string)).toBe(200);
});

it('a client that is revoked while it requests a token gets none, and its row is not reported as forged', async () => {
  const { service, apiKey } = place;
  const { client_id: id, client_secret: secret } = await makeClient(service, apiKey, ['audit:read']);
  await lock('SELECT FROM oauth_client WHERE id = $1 FOR SHARE', [id]);
  const revoked = call('DELETE', `/api/settings/oauth-clients/${id}`, { key: apiKey });
  await untilWaiting(1);
  const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  const late = postForm(service, '/oauth/token', grant);
  await settledOrWaiting(late, 2);
  await keeper.query('COMMIT');
  expect((await revoked).status).toBe(204);
  expect((await late).body).toMatchObject({ error: 'invalid_grant' });
  expect(service.log()).not.toContain('was not written by the service');
});

const entriesFor = async (key: string) => (await call('GET', '/api/v1/audit/entries', { key })).status;

it('a token exchange that is under way when the issuer is disabled gives no token that works once the issuer is enabled again', async () => {
  const { service, apiKey: key } = place;
  await issuer.start();
  const { id, name } = await trustIssuer({ service, key }, { issuer: issuer.issuer });
  await newTrust({ service, key }, id);
  const token = await issuer.tokenFor({ ...GITHUB }, AUDIENCE);
  const put = (enabled: boolean, version: number) =>
    call('PUT', `/api/settings/workload-issuers/${id}`, {
      key,
      body: { name, enabled },
      headers: { 'if-match': `"${version}"` },
    });
  await lock('LOCK TABLE workload_token_use IN EXCLUSIVE MODE');
  const exchanged = exchange(service, token);
  await untilWaiting(1);
  const disabled = put(false, 1);
  await settledOrWaiting(disabled, 2);
  await keeper.query('COMMIT');
  expect((await disabled).status).toBe(200);
  expect((await put(true, 2)).status).toBe(200);
  const { access_token: access = 'none' } = (await exchanged).body as { access_token?: string };
  expect((await call('GET', '/api/v1/sign/requests', { key: access })).status).toBe(401);
});

it('an identity token from before the issuer was disabled gives no token once the issuer is enabled again', async () => {
  const { service, apiKey } = place;
  const other = new WorkloadIssuer();
  await other.start();
  const { id } = await trustIssuer({ service, key: apiKey }, { name: 'paused', issuer: other.issuer });
  await newTrust({ service, key: apiKey }, id, { audience: AUDIENCE });
  const earlier = await other.tokenFor(GITHUB, AUDIENCE);
  // Tokens contain the time of issue in whole seconds.
  await sleep(1100);
  for (const enabled of [false, true]) {
    const headers = { 'if-match': `"${enabled ? 2 : 1}"` };
    const change = { key: apiKey, body: { name: 'paused', enabled }, headers };
    expect((await call('PUT', `/api/settings/workload-issuers/${id}`, change)).status).toBe(200);
  }
  const refused = {
    error: 'invalid_grant',
    error_description: expect.stringContaining('before its issuer was disabled'),
  };
  expect((await exchange(service, earlier)).body).toMatchObject(refused);
  expect((await exchange(service, await other.tokenFor(GITHUB, AUDIENCE))).status).toBe(200);
  await other.stop();
});

/** Operations that send a request to an address chosen by the caller before they write to the database. */
const OUTBOUND: Record<string, (url: string) => [method: string, path: string, body: object]> = {
  'the keys of a new client': (url) => [
    'POST',
    '/api/settings/oauth-clients',
    { name: 'late', permissions: ['audit:read'], type: 'confidential', jwks_uri: `${url}/keys` },
  ],
  'a workload issuer': (url) => ['POST', '/api/settings/workload-issuers', { name: 'late', issuer: url }],
};

it.each(Object.entries(OUTBOUND))(
  'a caller who is disabled while the service reads %s changes nothing',
  async (_what, order) => {
    const person = await administrator();
    const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
    const [method, path, body] = order(url);
    const answer = call(method, path, { key: person.accessToken, body });
    await until('the service calls the address', 30, () => Promise.resolve(held.length > 0));
    expect((await disable(person.id)).status).toBe(200);
    await release(url, answer);
    expect([401, 403]).toContain((await answer).status);
    const tables = `SELECT id FROM oauth_client WHERE name = 'late' UNION ALL SELECT id FROM workload_issuer WHERE name = 'late'`;
    expect(await place.stage.sql(tables)).toEqual([]);
  },
);

it('a call of a client whose secret was replaced while the service reads keys changes nothing', async () => {
  const { service, apiKey, stage } = place;
  const client = await makeClient(service, apiKey, ['settings:write', 'audit:read']);
  const secret = { client_id: client.client_id, client_secret: client.client_secret };
  const { body } = await postForm(service, '/oauth/token', { grant_type: 'client_credentials', ...secret });
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  const order = { name: 'by a client', permissions: ['audit:read'], type: 'confidential', jwks_uri: `${url}/keys` };
  const answer = call('POST', '/api/settings/oauth-clients', { key: body.access_token, body: order });
  await until('the service calls the address', 30, () => Promise.resolve(held.length > 0));
  const replaced = await call('POST', `/api/settings/oauth-clients/${client.client_id}/secret`, { key: apiKey });
  expect(replaced.status).toBe(201);
  await release(url, answer);
  expect((await answer).status).toBe(401);
  expect(await stage.sql(`SELECT FROM oauth_client WHERE name = 'by a client'`)).toEqual([]);
});

/** Responds with a document that is both a discovery document and a JWKS until the call has ended. */
async function release(url: string, answer: Promise<unknown>): Promise<void> {
  let isOver = false;
  void answer.finally(() => (isOver = true));
  const keys = [{ kty: 'OKP', crv: 'Ed25519', kid: '1', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }];
  const document = JSON.stringify({ issuer: url, jwks_uri: `${url}/keys`, keys });
  await until('the call has ended', 30, () => {
    for (const response of held.splice(0)) response.setHeader('content-type', 'application/json').end(document);
    return Promise.resolve(isOver);
  });
}

it('a caller who is disabled while another change of the provider is under way does not change the provider', async () => {
  const { service, apiKey, provider } = place;
  await putQuirky(service, apiKey, { name: 'main', provider });
  const person = await administrator();
  await lock('SELECT FROM identity_provider FOR UPDATE');
  const change = { rules: [], defaultRoles: ['admin'] };
  const changed = putQuirky(service, person.accessToken, { name: 'main', provider, change });
  await untilWaiting(1);
  expect((await disable(person.id)).status).toBe(200);
  await keeper.query('COMMIT');
  expect([401, 403]).toContain((await changed).status);
  const { body } = await call('GET', '/api/settings/identity-providers', { key: apiKey });
  expect(JSON.stringify(body)).not.toContain('"defaultRoles":["admin"]');
});
