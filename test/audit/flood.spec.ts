import { afterAll, beforeAll, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
});
afterAll(() => stage.close());

const CALLS = 800;

it('a flood of calls without a credential is refused, and adds only a few hundred log entries', async () => {
  const service = await stage.start({ role: 'api' });
  const answers: number[] = [];
  const calls = Array.from({ length: CALLS }, (_, i) => i)[Symbol.iterator]();
  const caller = async () => {
    for (const i of calls) {
      const key = i % 2 === 0 ? undefined : 'sw_nobody_0123456789';
      answers.push((await service.call('POST', '/api/v1/sign/digest', { key, body: {} })).status);
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  expect(answers).toEqual(answers.map(() => 401));
  await service.kill();
  const [entries] = await stage.sql<{ alone: number; more: number }>(
    `SELECT count(*) FILTER (WHERE NOT detail ? 'more')::int AS alone, sum((detail ->> 'more')::int)::int AS more
     FROM audit_entry WHERE action = 'request.refused' AND actor_kind = 'anonymous' AND source = '127.0.0.1'`,
  );
  // The calls may span two minutes, and the limit of 600 entries applies per minute.
  expect(entries?.alone).toBeLessThan(CALLS);
  expect(entries?.alone).toBeGreaterThanOrEqual(600);
  expect((entries?.alone ?? 0) + (entries?.more ?? 0)).toBe(CALLS);
});

it('a repeatedly refused caller adds no more entries, and others are still logged', async () => {
  const service = await stage.start({ role: 'api' });
  const { id, key } = await newApiKey(service, apiKey, ['sign:read']);
  const calls = Array.from({ length: CALLS }, (_, i) => i)[Symbol.iterator]();
  const caller = async () => {
    for (const i of calls) {
      const { status } = await service.call('POST', '/api/v1/sign/digest', { key, body: { i } });
      if (status !== 403) throw new Error(`call ${i}: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  const other = await newApiKey(service, apiKey, ['sign:read']);
  await service.call('POST', '/api/v1/sign/digest', { key: other.key, body: {} });
  await service.kill();
  const count = async (actor: string) =>
    stage.sql<{ alone: number; more: number | null }>(
      `SELECT count(*) FILTER (WHERE NOT detail ? 'more')::int AS alone, sum((detail ->> 'more')::int)::int AS more
       FROM audit_entry WHERE action = 'request.refused' AND actor_kind = 'api-key' AND actor_id = $1`,
      [actor],
    );
  const [entries] = await count(id);
  expect(entries?.alone).toBeLessThan(CALLS);
  expect(entries?.alone).toBeGreaterThanOrEqual(600);
  expect((entries?.alone ?? 0) + (entries?.more ?? 0)).toBe(CALLS);
  expect(await count(other.id)).toEqual([{ alone: 1, more: null }]);
});

it('a flood from more than a thousand networks hides neither callers with a credential nor other networks', async () => {
  const service = await stage.start({ role: 'api', settings: { SVC_TRUST_PROXY: '127.0.0.1' } });
  const { id, key } = await newApiKey(service, apiKey, ['sign:read']);
  const refused = async (address: string, credential?: string) => {
    const headers = { 'x-forwarded-for': address };
    await service.call('POST', '/api/v1/sign/digest', { key: credential, headers, body: {} });
  };
  const addresses = Array.from({ length: 1000 + 700 }, (_, i) => `2001:db8:${i.toString(16)}::1`)[Symbol.iterator]();
  const flood = async () => {
    for (const address of addresses) await refused(address);
  };
  await Promise.all(Array.from({ length: 8 }, flood));
  await refused('198.51.100.7');
  await refused('2001:db8::1', key);
  await service.kill();
  const [entries] = await stage.sql<{ network: number; caller: number }>(
    `SELECT count(*) FILTER (WHERE source = '198.51.100.7')::int AS network, count(*) FILTER (WHERE actor_id = $1)::int AS caller
     FROM audit_entry WHERE action = 'request.refused' AND NOT detail ? 'more'`,
    [id],
  );
  expect(entries).toEqual({ network: 1, caller: 1 });
});
