import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idOf, type Person, register } from '../auth/people.js';
import { newTrust, trustIssuer } from '../auth/workload-calls.js';
import { WebReceiver } from '../fakes/web-receiver.js';
import { registerSensor } from '../sensors/sensor-calls.js';
import { inDays } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let key: string;
const receiver = new WebReceiver();

beforeAll(async () => {
  await receiver.start();
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  service = await stage.start({ settings: { SVC_OUTBOUND_ALLOW: '127.0.0.1/32' } });
});
afterAll(async () => {
  await stage.close();
  await receiver.stop();
});

interface Item {
  readonly id: string;
}

const list = (path: string, query: Record<string, string>, by = key): Promise<Answer> =>
  service.call('GET', `${path}?${new URLSearchParams(query).toString()}`, { key: by });

async function found(path: string, query: Record<string, string>, by = key): Promise<string[]> {
  const { status, body } = await list(path, query, by);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body.items as (Item & { client_id?: string })[]).map(({ id, client_id = id }) => client_id);
}

async function post(path: string, body: object, by = key): Promise<Item & Record<string, unknown>> {
  const answer = await service.call('POST', path, { key: by, body });
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}

const newUploadedIssuer = (name: string) => {
  const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const jwks = { keys: [{ ...jwk, kid: randomUUID(), use: 'sig', alg: 'ES256' }] };
  return trustIssuer({ service, key }, { name, issuer: `https://${randomUUID()}.example.com`, jwks });
};

/** Lists whose items have names, each with a function that creates an item. */
const NAMED: [path: string, create: (name: string) => Promise<Item>][] = [
  [
    '/api/settings/api-keys',
    (name) => post('/api/settings/api-keys', { name, permissions: ['sign:read'], expiry: inDays(1) }),
  ],
  [
    '/api/settings/oauth-clients',
    async (name) => ({
      id: String(
        (await post('/api/settings/oauth-clients', { name, permissions: ['sign:read'], type: 'confidential' }))[
          'client_id'
        ],
      ),
    }),
  ],
  ['/api/settings/workload-issuers', newUploadedIssuer],
  [
    '/api/settings/workload-trusts',
    async (name) => newTrust({ service, key }, (await newUploadedIssuer(`for ${randomUUID()}`)).id as string, { name }),
  ],
  ['/api/sensors', (name) => registerSensor(service, key, { name })],
  [
    '/api/schedules',
    async (name) => {
      const { id: sensor } = await registerSensor(service, key, { name: `for ${randomUUID()}` });
      return post('/api/schedules', { name, target: 'sensor-scan', settings: { sensor }, intervalSeconds: 3600 });
    },
  ],
];

describe.each(NAMED)('%s', (path, create) => {
  it('is filtered by the exact name or its start, with % and _ as ordinary characters', async () => {
    const base = `100%_of ${randomUUID()}`;
    const [plain, longer, alike] = [
      await create(base),
      await create(`${base} (2)`),
      await create(base.replace('%_', '00')),
    ];
    expect(await found(path, { name: base })).toEqual([plain.id]);
    expect(await found(path, { name: `${base}*` })).toEqual([longer.id, plain.id]);
    expect(await found(path, { name: base.replace('%_', '00') })).toEqual([alike.id]);
    expect(await found(path, { name: `${base}%` })).toEqual([]);
    const { body } = await list(path, { name: `${base}*`, limit: '1' });
    await create(`${base} (3)`);
    const cursor = body.nextCursor as string;
    expect(await found(path, { name: `${base}*`, cursor })).toEqual([plain.id]);
    for (const query of [{ cursor }, { name: base, cursor }])
      assertProblem(await list(path, query as Record<string, string>), { status: 400, code: 'request.cursor' });
    assertProblem(await list(path, { nam: base }), { status: 400, code: 'request.invalid', pointer: '/nam' });
    assertProblem(await list(path, { name: '' }), { status: 400, code: 'request.invalid', pointer: '/name' });
  });
});

describe('users', () => {
  let person: Person;
  beforeAll(async () => {
    person = await register(service, 'find_me');
    await register(service, 'find-me');
  });

  it('are found by email address in any case, never by a part of it', async () => {
    const id = await idOf(stage, person.email);
    const path = '/api/settings/users';
    expect(await found(path, { email: person.email })).toEqual([id]);
    expect(await found(path, { email: person.email.toUpperCase() })).toEqual([id]);
    expect(await found(path, { email: person.email.slice(0, -1) })).toEqual([]);
    expect(await found(path, { email: person.email.slice(1) })).toEqual([]);
    expect(await found(path, { email: 'find_me-*' })).toEqual([id]);
    expect(await found(path, { email: '%' })).toEqual([]);
    assertProblem(await list(path, { mail: person.email }), { status: 400, code: 'request.invalid', pointer: '/mail' });
  });
});

it('API keys are found by their owner, also together with a name', async () => {
  const path = '/api/settings/api-keys';
  const boss = await register(service, 'boss');
  const owner = await idOf(stage, boss.email);
  await service.call('PATCH', `/api/settings/users/${owner}`, { key, body: { roles: ['admin'] } });
  const make = (name: string, by: string) => post(path, { name, permissions: ['sign:read'], expiry: inDays(1) }, by);
  const name = `owned ${randomUUID()}`;
  const { id } = await make(name, boss.accessToken);
  await make(name, key);
  expect(await found(path, { owner })).toEqual([id]);
  expect(await found(path, { owner, name })).toEqual([id]);
  expect(await found(path, { owner, name: 'another' })).toEqual([]);
  expect(await found(path, { owner: randomUUID() })).toEqual([]);
  assertProblem(await list(path, { owner: 'boss' }), { status: 400, code: 'request.invalid', pointer: '/owner' });
});

describe('imports', () => {
  const path = '/api/imports';
  const send = async (source: string, document: object, by = key) => {
    const { id } = await post(`/api/ingest?async=true&${new URLSearchParams({ source }).toString()}`, document, by);
    await service.call('GET', `${path}/${id}?wait=20`, { key: by });
    return id;
  };
  const BOM = { bomFormat: 'CycloneDX', specVersion: '1.6', components: [] };

  it('are found by source and status, alone and together', async () => {
    const source = `100%_ ${randomUUID()}`;
    const done = await send(source, BOM);
    const refused = await send(source, { ...BOM, components: [{ type: 'library' }] });
    await send(`${source}0`, BOM);
    const { body } = await list(path, { source });
    expect(body.items).toMatchObject([
      { id: refused, source, status: 'REFUSED' },
      { id: done, source, status: 'DONE' },
    ]);
    expect(await found(path, { source, status: 'DONE' })).toEqual([done]);
    expect((await found(path, { status: 'REFUSED' }))[0]).toBe(refused);
    expect(await found(path, { source: source.replace('%', '_') })).toEqual([]);
    assertProblem(await list(path, { status: 'BROKEN' }), { status: 400, code: 'request.invalid', pointer: '/status' });
  });

  it('of other people stay invisible', async () => {
    const source = randomUUID();
    await send(source, BOM);
    const person = await register(service, 'reporter');
    const roles = { key, body: { roles: ['operator'] } };
    await service.call('PATCH', `/api/settings/users/${await idOf(stage, person.email)}`, roles);
    expect(await found(path, { source }, person.accessToken)).toEqual([]);
    const own = await send(source, BOM, person.accessToken);
    expect(await found(path, { source }, person.accessToken)).toEqual([own]);
  });
});

it('webhook deliveries are found by status', async () => {
  const { id } = await post('/api/webhooks', { name: randomUUID(), url: `http://127.0.0.1:${receiver.port}/found` });
  const path = `/api/webhooks/${id}/deliveries`;
  const { id: first } = await post(`/api/webhooks/${id}/test`, {});
  await until('the delivery', 30, async () => (await found(path, { status: 'DELIVERED' })).includes(first));
  const { id: second } = await post(`/api/webhooks/${id}/test`, {});
  await until('the second delivery', 30, async () => (await found(path, { status: 'DELIVERED' })).includes(second));
  await stage.sql(`UPDATE webhook_delivery SET status = 'GIVEN_UP' WHERE id = $1`, [first]);
  expect(await found(path, { status: 'GIVEN_UP' })).toEqual([first]);
  expect(await found(path, { status: 'DELIVERED' })).toEqual([second]);
  expect(await found(path, { status: 'PENDING' })).toEqual([]);
  assertProblem(await list(path, { status: 'LOST' }), { status: 400, code: 'request.invalid', pointer: '/status' });
});
