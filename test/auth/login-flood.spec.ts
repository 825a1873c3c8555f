import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { type Person, register } from './people.js';

const MANY = 200;
let stage: Stage;
let service: Service;
let person: Person;

beforeAll(async () => {
  stage = await openStage();
  service = await stage.start({ role: 'api', settings: { SVC_TRUST_PROXY: '127.0.0.1/32' } });
  person = await register(service);
});
afterAll(() => stage.close());

const loginFrom = (address: string, email: string, password: string): Promise<Answer> =>
  service.call('POST', '/api/auth/login', { body: { email, password }, headers: { 'x-forwarded-for': address } });

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const begun = performance.now();
  return { value: await work(), ms: performance.now() - begun };
}

/** Polls the health endpoint every 20 ms until `done`. @returns the response times in milliseconds, in order */
async function healthUntil(done: () => boolean): Promise<number[]> {
  const times: number[] = [];
  while (!done()) {
    const { value, ms } = await timed(() => service.call('GET', '/actuator/health/liveness'));
    expect(value.status).toBe(200);
    times.push(ms);
    await sleep(20);
  }
  return times.toSorted((a, b) => a - b);
}

it(`${MANY} logins at once from one address end soon, keep nobody else out, and do not stop the process`, async () => {
  let isOver = false;
  const flood = timed(() =>
    Promise.all(
      Array.from({ length: MANY }, (_, n) => loginFrom('198.51.100.7', `nobody-${n}@example.org`, 'wrong-wrong-wrong')),
    ),
  ).finally(() => {
    isOver = true;
  });
  const health = healthUntil(() => isOver);
  const mine = await timed(() => loginFrom('203.0.113.5', person.email, person.password));
  const { value: answers, ms } = await flood;
  const times = await health;
  const counted = (status: number) => answers.filter((answer) => answer.status === status).length;
  // The service verified some passwords, rejected most calls with Retry-After, and answered every call.
  expect([counted(401) + counted(429), counted(401) >= 20, counted(429) >= 50]).toEqual([MANY, true, true]);
  for (const { status, headers } of answers) expect(status === 429 ? headers.get('retry-after') : '1').toMatch(/^\d+$/);
  expect(mine.value.status).toBe(200);
  expect(ms).toBeLessThan(25_000);
  expect(mine.ms).toBeLessThan(15_000);
  const p99 = times[Math.floor(times.length * 0.99)] ?? Infinity;
  expect(times.length).toBeGreaterThan(5);
  // Hashing runs outside the event loop. Otherwise, the 70 ms of each hash would delay every health check.
  expect(p99).toBeLessThan(1000);
  process.stdout.write(
    `${MANY} logins ${ms.toFixed(0)} ms, another's ${mine.ms.toFixed(0)} ms, health p99 ${p99.toFixed(0)} ms\n`,
  );
});
