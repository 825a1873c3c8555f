import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer } from '../support/service.js';
import { digestOf, type PublishedKey } from '../support/signing.js';
import { type Approver, held, newGuardedKey, newTeam, openApprovalFixture, unique, vote } from './approvers.js';

const place = await openApprovalFixture();
afterAll(() => place.stage.close());
const { ada, ben, olga } = await newTeam(place, 'ada', 'ben', 'olga');

let key: PublishedKey;
let other: PublishedKey;
let pipeline: { id: string; key: string };

beforeAll(async () => {
  ({ key } = await newGuardedKey(place, [{ members: [ada, ben], threshold: 1 }]));
  ({ key: other } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]));
  pipeline = await newApiKey(place.service, place.apiKey, ['sign:digest', 'sign:read', 'approvals:read']);
});

const list = (query: Record<string, string>, by = place.apiKey): Promise<Answer> =>
  place.service.call('GET', `/api/v1/approvals?${new URLSearchParams(query).toString()}`, { key: by });

async function found(query: Record<string, string>, by = place.apiKey): Promise<string[]> {
  const { status, body } = await list(query, by);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body.items as { id: string }[]).map(({ id }) => id);
}

const ask = (of = key, extra: object = {}, by = place.apiKey) =>
  held(place, { digest: digestOf(randomUUID()), key: of.name, ...extra }, by);

/** Requests two signatures in a batch, which share one approval. */
async function askBatch(references: string[]): Promise<{ approvalId: string; requestIds: string[] }> {
  const items = references.map((reference) => ({ digest: digestOf(randomUUID()), reference }));
  const order = { key: place.apiKey, body: { items, key: key.name } };
  const { body } = await place.service.call('POST', '/api/v1/sign/batch', order);
  const made = body.items as { requestId: string; approvalId: string }[];
  return { approvalId: made[0]?.approvalId ?? '', requestIds: made.map(({ requestId }) => requestId) };
}

describe('who approved this', () => {
  const votersOf = async (subject: string, by = place.apiKey) => {
    const { body } = await list({ subject }, by);
    return (body.items as { votes: { by: { id: string }; decision: string }[] }[]).map(({ votes }) =>
      votes.map(({ by: { id }, decision }) => [id, decision]),
    );
  };

  it('is answered in one call, by the ID or the reference of a request', async () => {
    const reference = `100% of_${randomUUID()}`;
    const { requestId, approvalId } = await ask(key, { reference });
    await ask(key, { reference: `${reference}0` });
    await vote(place.service, approvalId, ben, { body: { comment: 'tests are green' } });
    expect(await found({ subject: requestId })).toEqual([approvalId]);
    expect(await found({ subject: requestId.toUpperCase() })).toEqual([approvalId]);
    expect(await found({ subject: reference })).toEqual([approvalId]);
    expect(await votersOf(requestId)).toEqual([[[ben.id, 'APPROVE']]]);
    expect(await votersOf(reference)).toEqual([[[ben.id, 'APPROVE']]]);
  });

  it('also for each request of a batch', async () => {
    const references = [unique('first'), unique('second')];
    const { approvalId, requestIds } = await askBatch(references);
    await vote(place.service, approvalId, ada);
    for (const subject of [...requestIds, ...references]) {
      expect(await found({ subject })).toEqual([approvalId]);
      expect(await votersOf(subject)).toEqual([[[ada.id, 'APPROVE']]]);
    }
  });

  it('with the earlier approval, if the key was rotated in between', async () => {
    const { key: rotated } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
    const { requestId, approvalId } = await ask(rotated);
    await place.service.call('POST', `/api/v1/signing-keys/${rotated.name}/rotate`, { key: place.apiKey, body: {} });
    await vote(place.service, approvalId, ada);
    const request = await place.service.call('GET', `/api/v1/sign/requests/${requestId}?wait=10`, {
      key: place.apiKey,
    });
    const ids = await found({ subject: requestId });
    expect(ids).toContain(approvalId);
    expect(ids).toContain(request.body.approvalId);
  });

  it('but not for a person who is neither the requester nor an approver', async () => {
    const reference = unique('secret');
    const { requestId, approvalId } = await ask(key, { reference });
    expect(await found({ subject: requestId }, ada.accessToken)).toEqual([approvalId]);
    for (const subject of [requestId, reference, randomUUID(), 'no such reference'])
      expect(await found({ subject }, olga.accessToken)).toEqual([]);
  });
});

describe('approvals are found', () => {
  it('by key, name or ID, alone and in a batch', async () => {
    const before = await found({ key: other.name });
    const { approvalId } = await ask(other);
    const { approvalId: batch } = await askBatch([unique('a'), unique('b')]);
    expect(await found({ key: other.name })).toEqual([approvalId, ...before]);
    expect(await found({ key: other.id })).toEqual([approvalId, ...before]);
    expect(await found({ key: key.name, limit: '1' })).toEqual([batch]);
  });

  it('by requester: the person, or the name of the caller', async () => {
    const { approvalId } = await ask(key, {}, pipeline.key);
    const { body } = await place.service.call('GET', `/api/v1/approvals/${approvalId}`, { key: place.apiKey });
    const { id, name } = body.requester as Approver & { name: string };
    expect((await found({ requester: name }))[0]).toBe(approvalId);
    expect((await found({ requester: id }))[0]).toBe(approvalId);
    expect(await found({ requester: `${name}%` })).toEqual([]);
    expect(await found({ requester: randomUUID() })).toEqual([]);
  });

  it('by kind of subject and by period, combined with the other filters and with paging', async () => {
    const from = new Date().toISOString();
    const made: string[] = [];
    for (let i = 0; i < 3; i += 1) made.unshift((await ask(other)).approvalId);
    const { approvalId: batch } = await askBatch([unique('a'), unique('b')]);
    expect(await found({ from, subjectKind: 'signing-batch' })).toEqual([batch]);
    expect(await found({ from, subjectKind: 'ssh-rotation' })).toEqual([]);
    expect(await found({ from, to: new Date(Date.parse(from) + 1).toISOString() })).toEqual([]);
    await vote(place.service, made[1] ?? '', ada);
    expect(await found({ from, key: other.name, status: 'PENDING', subjectKind: 'signing-request' })).toEqual([
      made[0],
      made[2],
    ]);
    const { body: first } = await list({ from, key: other.name, limit: '2' });
    await ask(other);
    const cursor = first.nextCursor as string;
    expect(await found({ from, key: other.name, limit: '2', cursor })).toEqual([made[2]]);
    for (const query of [{ cursor }, { key: other.name, cursor }, { from, key: key.name, cursor }])
      assertProblem(await list(query as Record<string, string>), { status: 400, code: 'request.cursor' });
  });

  it('that wait for the vote of the caller, with a filter', async () => {
    const { approvalId } = await ask(other);
    const reference = unique('mine');
    const { approvalId: mine } = await ask(key, { reference });
    expect(await found({ waiting: 'me', key: other.name, limit: '1' }, ada.accessToken)).toEqual([approvalId]);
    expect(await found({ waiting: 'me', subject: reference }, ben.accessToken)).toEqual([mine]);
    expect(await found({ waiting: 'me', key: other.name }, ben.accessToken)).toEqual([]);
  });

  it.each([
    ['an unknown kind', { subjectKind: 'file' }, { status: 400, code: 'request.invalid', pointer: '/subjectKind' }],
    [
      'an unknown parameter',
      { assignedToMe: 'true' },
      { status: 400, code: 'request.invalid', pointer: '/assignedToMe' },
    ],
    [
      'an empty period',
      { from: '2026-01-01', to: '2026-01-01' },
      { status: 400, code: 'request.invalid', pointer: '/to' },
    ],
    ['an unknown key', { key: 'no-such-key' }, { status: 422, code: 'signing-key.unknown', pointer: '/key' }],
  ])('but not with %s', async (_, query, refusal) => {
    assertProblem(await list(query), refusal);
  });
});

describe.each([
  ['approver-groups', 'approver-group', () => ({ members: [ada.id, ben.id] })],
  ['approval-policies', 'approval-policy', () => ({ keys: [key.name], stages: [] as object[] })],
] as const)('a path of %s', (path, kind, rest) => {
  const call = (method: string, name: string, body?: object, headers = {}) =>
    place.service.call(method, `/api/v1/${path}/${encodeURIComponent(name)}`, { key: place.apiKey, body, headers });
  const make = async (name: string) => {
    const group = { name: unique('group'), members: [ada.id] };
    if (kind === 'approval-policy')
      await place.service.call('POST', '/api/v1/approver-groups', { key: place.apiKey, body: group });
    const stages = [{ group: group.name, threshold: 1 }];
    const body = { name, ...rest(), ...(kind === 'approval-policy' ? { stages } : {}) };
    const made = await place.service.call('POST', `/api/v1/${path}`, { key: place.apiKey, body });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    return { id: made.body.id as string, body };
  };

  it.each(['Release managers', '100% of_us', 'a/b?c=d#e&f', 'Gruppe für "Freigaben"', '*', '..'])(
    'accepts the name %j: get, replace, delete',
    async (text) => {
      const name = `${text} ${randomUUID()}`;
      const { id, body } = await make(name);
      const { headers, ...answer } = await call('GET', name);
      expect(answer).toMatchObject({ status: 200, body: { id, name } });
      const renamed = `${name}!`;
      const match = { 'if-match': headers.get('etag') ?? '' };
      expect(await call('PUT', name, { ...body, name: renamed }, match)).toMatchObject({
        status: 200,
        body: { id, name: renamed },
      });
      assertProblem(await call('GET', name), { status: 404, code: `${kind}.missing` });
      const { body: named } = await place.service.call(
        'GET',
        `/api/v1/${path}?${new URLSearchParams({ name: renamed }).toString()}`,
        { key: place.apiKey },
      );
      expect((named.items as { id: string }[]).map((item) => item.id)).toEqual([id]);
      expect((await call('DELETE', renamed)).status).toBe(204);
      assertProblem(await call('GET', id), { status: 404, code: `${kind}.missing` });
    },
  );

  it('never takes a UUID for a name', async () => {
    const name = randomUUID();
    const { id } = await make(name);
    assertProblem(await call('GET', name), { status: 404, code: `${kind}.missing` });
    assertProblem(await call('DELETE', name), { status: 404, code: `${kind}.missing` });
    expect((await call('GET', id)).body).toMatchObject({ id, name });
  });
});
