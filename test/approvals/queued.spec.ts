import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { createKey, digestOf, read, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { newApprovers, newGroup, unique } from './approvers.js';

let stage: Stage;
let api: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  api = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

it('a policy created while a request is queued for signing applies to it', async () => {
  const [guarded, free] = await Promise.all(
    ['guarded', 'free'].map((name) => createKey(api, apiKey, { name: unique(name), type: 'ec-p256' })),
  );
  const ask = async (name = '') => {
    const body = { digest: digestOf(randomBytes(8)), key: name, async: true };
    const answer = await sign(api, { key: apiKey, body });
    expect(answer.status).toBe(202);
    return answer.body.requestId as string;
  };
  const [first, second] = [await ask(guarded?.name), await ask(free?.name)];
  const place = { stage, service: api, apiKey };
  const group = await newGroup(place, await newApprovers(place, 1));
  const stages = [{ group: group.body.id as string, threshold: 1 }];
  const body = { name: unique('late'), keys: [guarded?.name], stages };
  expect((await api.call('POST', '/api/v1/approval-policies', { key: apiKey, body })).status).toBe(201);
  await stage.start({ role: 'worker' });
  const end = (id: string) =>
    until(`the end of ${id}`, 60, async () => {
      const answer = await read(api, apiKey, id, 20);
      return ['FAILED', 'SIGNED'].includes(answer.body.status as string) && answer.body;
    });
  expect(await end(first)).toMatchObject({ status: 'FAILED', failure: { code: 'approval.needed' } });
  expect(await end(second)).toMatchObject({ status: 'SIGNED' });
});
