import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebReceiver } from '../fakes/web-receiver.js';
import type { Service } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { unique } from '../approvals/approvers.js';
import { ALLOWED, eventsAt, openEndpoint, readFeed, type TestEndpoint } from './event-endpoints.js';

const ROUNDS = 5;
const receiver = new WebReceiver();
let stage: Stage;
let api: Service;
let key: string;
let endpoint: TestEndpoint;

beforeAll(async () => {
  await receiver.start();
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  api = await stage.start({ role: 'api', settings: ALLOWED });
  endpoint = await openEndpoint(api, key, receiver, ['signing-request.signed']);
});
afterAll(async () => {
  await stage.close();
  await receiver.stop();
});

const startWorker = () => stage.start({ role: 'worker', settings: ALLOWED });
const requestsSeen = () => new Set(eventsAt(receiver, endpoint).map(({ data }) => data.requestId as string));

it('a killed worker loses no event, and no event is queued twice', async () => {
  const requests: string[] = [];
  const signSome = async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        sign(api, { key, body: { key: 'default', digest: digestOf(unique('crash')), async: i % 2 === 0 } }),
      ),
    );
    requests.push(...answers.map(({ body }) => body.requestId as string));
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    const worker = await startWorker();
    await signSome();
    // Kills the worker while it signs, appends to the log, queues or sends.
    await new Promise((resolve) => setTimeout(resolve, 400 * round));
    await worker.kill('SIGKILL');
  }
  await startWorker();
  await stage.sql(`UPDATE webhook_delivery SET next_try_at = now() WHERE status = 'PENDING'`);
  await until('every event', 60, async () => requests.every((id) => requestsSeen().has(id)));
  const rows = await stage.sql<{ event: string }>(`SELECT body::jsonb ->> 'id' AS event FROM webhook_delivery`);
  expect(new Set(rows.map(({ event }) => event)).size).toBe(rows.length);
  expect(rows).toHaveLength(requests.length);
  const { events } = await readFeed(api, key, { types: 'signing-request.signed' });
  expect(events.map(({ id }) => id).toSorted()).toEqual(rows.map(({ event }) => event).toSorted());
}, 300_000);
