import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import { listenTo } from '../support/server-sent-events.js';
import type { Service } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { makeClient, postForm } from './oauth-calls.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

it('a caller whose API key is revoked, or whose client gets another secret, while waiting for a signature does not receive it', async () => {
  const gone = await newApiKey(service, apiKey, ['sign:digest', 'sign:read']);
  const stays = await newApiKey(service, apiKey, ['sign:digest', 'sign:read']);
  // Asynchronous requests are not signed before the worker starts.
  const { body } = await sign(service, { key: stays.key, body: { digest: digestOf('x'), async: true } });
  const path = `/api/v1/sign/requests/${body.requestId}`;
  const wait = (key: string) => service.call('GET', `${path}?wait=30`, { key });
  const client = await makeClient(service, apiKey, ['sign:digest', 'sign:read']);
  const { client_id, client_secret } = client;
  const grant = { grant_type: 'client_credentials', client_id, client_secret };
  const { body: granted } = await postForm(service, '/oauth/token', grant);
  const [refused, answered] = [wait(gone.key), wait(stays.key)];
  const replaced = wait(granted.access_token as string);
  const listen = (key: string) => listenTo(service, `${path}/events`, key);
  const [cut, whole] = [listen(gone.key), listen(stays.key)];
  await until('both to be told', 10, async () => cut.heard.length > 0 && whole.heard.length > 0);
  expect((await service.call('DELETE', `/api/settings/api-keys/${gone.id}`, { key: apiKey })).status).toBe(204);
  const secret = `/api/settings/oauth-clients/${client.client_id}/secret`;
  expect((await service.call('POST', secret, { key: apiKey })).status).toBe(201);
  const statuses = (events: readonly { data: { status: string } }[]) => events.map(({ data }) => data.status);
  await sleep(2000); // an outcome that is already available is returned without another check of the credential
  await stage.start({ role: 'worker' });
  assertProblem(await refused, { status: 401, code: 'auth.revoked-key' });
  assertProblem(await replaced, { status: 401, code: 'auth.bad-token' });
  expect((await answered).body.status).toBe('SIGNED');
  expect(statuses(await cut.ended)).toEqual(['QUEUED']);
  expect(statuses(await whole.ended).at(-1)).toBe('SIGNED');
});
