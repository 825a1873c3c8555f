import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Service } from '../support/service.js';
import { createKey, digestOf, read, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { type Approver, approval, held, newApprover, newApprovers, newGroup, newGuardedKey, unique, vote } from './approvers.js'; // prettier-ignore

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
  const worker = await stage.start({ role: 'worker' });
  const end = (id: string) =>
    until(`the end of ${id}`, 60, async () => {
      const answer = await read(api, apiKey, id, 20);
      return ['FAILED', 'SIGNED'].includes(answer.body.status as string) && answer.body;
    });
  expect(await end(first)).toMatchObject({ status: 'FAILED', failure: { code: 'approval.needed' } });
  expect(await end(second)).toMatchObject({ status: 'SIGNED' });
  await worker.kill('SIGKILL');
});

it('a request queued without approval is not signed once its requester has lost the right to make it', async () => {
  const place = { stage, service: api, apiKey };
  const { name } = await createKey(api, apiKey, { name: unique('free'), type: 'ec-p256' });
  const signer = () => newApiKey(api, apiKey, ['sign:digest']);
  const [kept, revoked, narrowed] = [await signer(), await signer(), await signer()];
  const [disabled, demoted] = [await newApprover(place, ['operator']), await newApprover(place, ['operator'])];
  const ask = async (key: string) => {
    const { status, body } = await sign(api, {
      key,
      body: { digest: digestOf(randomBytes(8)), key: name, async: true },
    });
    expect(status).toBe(202);
    return body.requestId as string;
  };
  const wanted = new Map([
    [await ask(kept.key), 'SIGNED'],
    [await ask(revoked.key), 'FAILED approval.withdrawn'],
    [await ask(narrowed.key), 'FAILED approval.withdrawn'],
    [await ask(disabled.accessToken), 'FAILED approval.withdrawn'],
    [await ask(demoted.accessToken), 'FAILED approval.withdrawn'],
  ]);
  const change = async (method: string, path: string, body?: object) => {
    const headers = { 'if-match': '"1"' };
    expect((await api.call(method, `/api/settings/${path}`, { key: apiKey, headers, body })).status).toBeLessThan(300);
  };
  await change('DELETE', `api-keys/${revoked.id}`);
  await change('PATCH', `api-keys/${narrowed.id}`, { keys: ['nothing-*'] });
  await change('PATCH', `users/${disabled.id}`, { disabled: true });
  await change('PATCH', `users/${demoted.id}`, { roles: ['viewer'] });
  const worker = await stage.start({ role: 'worker' });
  try {
    const states = await until('the ends', 60, async () => {
      const rows = await stage.sql<{ id: string; state: string }>(
        `SELECT id, concat_ws(' ', status, failure_code) AS state FROM signing_request
         WHERE id = ANY($1::uuid[]) AND status IN ('SIGNED', 'FAILED')`,
        [[...wanted.keys()]],
      );
      return rows.length === wanted.size && rows;
    });
    expect(new Map(states.map(({ id, state }) => [id, state]))).toEqual(wanted);
  } finally {
    await worker.kill('SIGKILL');
  }
});

it('an approved request that was held back is evaluated again, with the rights of its approvers and its requester', async () => {
  const place = { stage, service: api, apiKey };
  const worker = await stage.start({ role: 'worker' });
  const [ann, bob] = (await newApprovers(place, 2)) as [Approver, Approver];
  const operator = await newApprover(place, ['operator']);
  const { key } = await newGuardedKey(place, [{ members: [ann, bob], threshold: 1 }]);
  const ask = (by: string) => held(place, { digest: digestOf(unique('held back')), key: key.name }, by);
  const [first, second, third] = [await ask(apiKey), await ask(operator.accessToken), await ask(apiKey)];
  await until('a checkpoint over all', 45, async () => {
    const [row] = await stage.sql<{ open: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM log_waiting) OR (SELECT size FROM log_head) <> (SELECT max(size) FROM log_checkpoint) AS open`,
    );
    return row?.open === false;
  });
  // Without a worker, no request is claimed, as if the rows were locked in the database.
  await worker.kill('SIGKILL');
  for (const [one, by] of [
    [first, ann],
    [second, bob],
    [third, bob],
  ] as const)
    // prettier-ignore
    expect((await vote(api, one.approvalId, by)).status).toBe(200);
  for (const { id } of [ann, operator]) {
    const path = `/api/settings/users/${id}`;
    expect((await api.call('PATCH', path, { key: apiKey, body: { disabled: true } })).status).toBe(200);
  }
  const later = await stage.start({ role: 'worker' });
  const is = (id: string, wanted: string) =>
    until(`${id} is ${wanted}`, 60, async () => {
      const [row] = await stage.sql<{ state: string }>(
        `SELECT concat_ws(' ', status, failure_code) AS state FROM signing_request WHERE id = $1`,
        [id],
      );
      return row?.state === wanted;
    });
  try {
    await is(third.requestId, 'SIGNED');
    await is(first.requestId, 'PENDING_APPROVAL');
    await is(second.requestId, 'FAILED approval.withdrawn');
    expect((await approval(place, first.approvalId)).body).toMatchObject({ status: 'PENDING' });
    expect((await vote(api, first.approvalId, bob)).status).toBe(200);
    await is(first.requestId, 'SIGNED');
  } finally {
    await later.kill('SIGKILL');
  }
});
