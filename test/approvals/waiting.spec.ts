import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import { type EventStream, listenTo } from '../support/server-sent-events.js';
import { digestOf, read, until } from '../support/signing.js';
import { held, newGuardedKey, newTeam, openApprovalFixture, vote } from './approvers.js';

const place = await openApprovalFixture();
afterAll(() => place.stage.close());
// A second process. Votes are sent to the first process.
const other = await place.stage.start({ role: 'api' });
const { ada, ben } = await newTeam(place, 'ada', 'ben');
const { key } = await newGuardedKey(place, [{ members: [ada, ben], threshold: 2 }]);

const ask = () => held(place, { digest: digestOf(randomUUID()), key: key.name });

/**
 * Returns the number of milliseconds between the last vote and the time at which all long polls for the request and the approval have returned in both
 * processes.
 */
async function slowestToHear(): Promise<number> {
  const { requestId, approvalId } = await ask();
  await vote(place.service, approvalId, ada);
  const timed = async (call: Promise<{ body: { status: string } }>) => {
    const { body } = await call;
    return { status: body.status, at: performance.now() };
  };
  const path = `/api/v1/approvals/${approvalId}?wait=30`;
  const waiting = [place.service, other].flatMap((service) => [
    timed(read(service, place.apiKey, requestId, 30)),
    timed(service.call('GET', path, { key: place.apiKey })),
  ]);
  await sleep(600);
  await vote(place.service, approvalId, ben);
  const voted = performance.now();
  const heard = await Promise.all(waiting);
  expect(heard.map(({ status }) => status)).toEqual(['SIGNED', 'APPROVED', 'SIGNED', 'APPROVED']);
  return Math.max(...heard.map(({ at }) => at - voted));
}

it('callers waiting for a request or approval get a response within a second of the last vote, in every process', async () => {
  const times: number[] = [];
  // The fastest of three rounds counts, because other load on the machine may delay a round.
  for (let round = 0; round < 3; round += 1) times.push(await slowestToHear());
  expect(Math.min(...times)).toBeLessThan(1000);
});

const hasHeard = (stream: EventStream, count: number) =>
  until(`${count} events`, 30, async () => stream.heard.length >= count);

it('a wait that times out returns the current state', async () => {
  const { requestId, approvalId } = await ask();
  const began = performance.now();
  const [request, approval] = await Promise.all([
    read(other, place.apiKey, requestId, 1),
    other.call('GET', `/api/v1/approvals/${approvalId}?wait=1`, { key: place.apiKey }),
  ]);
  expect(performance.now() - began).toBeGreaterThan(950);
  expect([request.body.status, approval.body.status]).toEqual(['PENDING_APPROVAL', 'PENDING']);
  const wrong = await other.call('GET', `/api/v1/approvals/${approvalId}?wait=31`, { key: place.apiKey });
  assertProblem(wrong, { status: 400, code: 'request.invalid' });
});

it('server-sent events report each change of request and approval, and end with the last', async () => {
  const { requestId, approvalId } = await ask();
  const streams = [place.service, other].flatMap((service) => [
    listenTo(service, `/api/v1/sign/requests/${requestId}/events`, place.apiKey),
    listenTo(service, `/api/v1/approvals/${approvalId}/events`, ada.accessToken),
  ]);
  const [, hereApprovals, , thereApprovals] = streams as [EventStream, EventStream, EventStream, EventStream];
  await Promise.all(streams.map((stream) => hasHeard(stream, 1)));
  await vote(place.service, approvalId, ada, { body: { comment: 'data: x\n\nevent: forged' } });
  await Promise.all([hereApprovals, thereApprovals].map((stream) => hasHeard(stream, 2)));
  await vote(place.service, approvalId, ben);
  const [hereRequest = [], hereApproval = [], thereRequest = [], thereApproval = []] = await Promise.all(
    streams.map(({ ended }) => ended),
  );
  for (const events of [hereRequest, thereRequest]) {
    expect(events[0]?.data).toMatchObject({ requestId, status: 'PENDING_APPROVAL', approvalId });
    expect(events.at(-1)?.data).toMatchObject({ status: 'SIGNED', signature: expect.any(String) });
  }
  for (const events of [hereApproval, thereApproval]) {
    expect(events.map(({ name }) => name)).toEqual(['status', 'status', 'status']);
    expect(events.map(({ data }) => data.votes.length)).toEqual([0, 1, 2]);
    expect(events.at(-1)?.data.status).toBe('APPROVED');
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
  }
});

it('an event stream is only for callers who may read its subject', async () => {
  const { requestId, approvalId } = await ask();
  const request = await other.call('GET', `/api/v1/sign/requests/${requestId}/events`, { key: ada.accessToken });
  assertProblem(request, { status: 404, code: 'signing-request.missing' });
  const seen = await other.call('GET', `/api/v1/approvals/${randomUUID()}/events`, { key: ada.accessToken });
  assertProblem(seen, { status: 404, code: 'approval.missing' });
  const nobody = await other.call('GET', `/api/v1/approvals/${approvalId}/events`);
  assertProblem(nobody, { status: 401, code: 'auth.missing' });
});

/** This test runs last, because it stops the process. */
it('event streams are limited per caller, and another is allowed when one has ended', async () => {
  const { approvalId } = await ask();
  const path = `/api/v1/approvals/${approvalId}/events`;
  const leaving = new AbortController();
  const open = (by: string, signal = leaving.signal) =>
    fetch(`${place.service.url}${path}`, { headers: { authorization: `Bearer ${by}` }, signal });
  const answers = await Promise.all(Array.from({ length: 103 }, () => open(place.apiKey)));
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.map(({ status }) => status)).toEqual([429, 429, 429]);
  expect(refused[0]?.headers.get('retry-after')).toBe('10');
  expect(await refused[0]?.json()).toMatchObject({ code: 'stream.too-many' });
  expect((await open(ada.accessToken)).status).toBe(200);
  leaving.abort();
  const again = new AbortController();
  await until('room for another stream', 10, async () => (await open(place.apiKey, again.signal)).status === 200);
  again.abort();
});

it('waiting calls are answered at shutdown', async () => {
  const { requestId, approvalId } = await ask();
  const stream = listenTo(other, `/api/v1/approvals/${approvalId}/events`, place.apiKey);
  const waiting = [
    read(other, place.apiKey, requestId, 30).then(({ body }) => body.status),
    stream.ended.then((events) => events.length),
  ];
  await hasHeard(stream, 1);
  // The other long poll was sent earlier, but the test cannot observe when the service begins to wait.
  await sleep(1000);
  const began = performance.now();
  const ended = other.kill('SIGTERM');
  expect(await Promise.all(waiting)).toEqual(['PENDING_APPROVAL', 1]);
  expect(performance.now() - began).toBeLessThan(15_000);
  expect(await ended).toBe('SIGTERM');
});
