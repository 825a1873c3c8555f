import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import { eventsOf } from '../support/server-sent-events.js';
import type { Service } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

it('who waits for a signature and loses the key meanwhile does not hear of it', async () => {
  const gone = await newApiKey(service, apiKey, ['sign:digest', 'sign:read']);
  const stays = await newApiKey(service, apiKey, ['sign:digest', 'sign:read']);
  // Nobody signs in the background before the worker is there.
  const { body } = await sign(service, { key: gone.key, body: { digest: digestOf('x'), async: true } });
  const path = `/api/v1/sign/requests/${body.requestId}`;
  const wait = (key: string) => service.call('GET', `${path}?wait=30`, { key });
  const [refused, answered] = [wait(gone.key), wait(stays.key)];
  const [cut, whole] = [eventsOf(service, `${path}/events`, gone.key), eventsOf(service, `${path}/events`, stays.key)];
  await sleep(500);
  expect((await service.call('DELETE', `/api/settings/api-keys/${gone.id}`, { key: apiKey })).status).toBe(204);
  await sleep(5000);
  await stage.start({ role: 'worker' });
  await until('the signature', 20, async () => (await service.call('GET', path, { key: stays.key })).body.signature);
  assertProblem(await refused, { status: 401, code: 'auth.revoked-key' });
  expect((await answered).body.status).toBe('SIGNED');
  const statuses = (events: { data: { status: string } }[]) => events.map(({ data }) => data.status);
  expect(statuses(await cut)).toEqual(['QUEUED']);
  expect(statuses(await whole).at(-1)).toBe('SIGNED');
});
