import { afterAll, beforeAll, expect, it } from 'vitest';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
  await stage.seed();
});
afterAll(() => stage.close());

const CALLS = 800;

it('a flood of calls without a credential is refused whole, and fills no more of the log than some hundred entries', async () => {
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
  // Two minutes may share them.
  expect(entries?.alone).toBeLessThan(CALLS);
  expect(entries?.alone).toBeGreaterThanOrEqual(600);
  expect((entries?.alone ?? 0) + (entries?.more ?? 0)).toBe(CALLS);
});
