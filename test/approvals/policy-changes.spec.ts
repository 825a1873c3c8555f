import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyEvidence } from '../../src/verifier/evidence-verifier.js';
import type { Service } from '../support/service.js';
import { digestOf, read, until } from '../support/signing.js';
import { openStage } from '../support/stage.js';
import {
  approval,
  type ApprovalFixture,
  type Approver,
  held,
  newGroup,
  newGuardedKey,
  newTeam,
  unique,
  vote,
} from './approvers.js';

let place: ApprovalFixture;
let worker: Service;
let ada: Approver;
let ben: Approver;
let eve: Approver;
/** Eve's group. The group is created before any request, because members whom the requester adds later cannot vote. */
let eves: string;

beforeAll(async () => {
  const stage = await openStage();
  const { apiKey } = await stage.seed();
  place = { stage, apiKey, service: await stage.start({ role: 'api' }) };
  worker = await stage.start({ role: 'worker' });
  ({ ada, ben, eve } = await newTeam(place, 'ada', 'ben', 'eve'));
  eves = (await newGroup(place, [eve])).body.id as string;
});
afterAll(() => place.stage.close());

const call = (method: string, path: string, body?: object, headers?: Record<string, string>) =>
  place.service.call(method, path, { key: place.apiKey, body, headers });

interface Guarded {
  readonly key: { readonly id: string; readonly name: string };
  readonly policy: {
    readonly id: string;
    readonly name: string;
    readonly stages: { group: string; threshold: number }[];
  };
}

/** Creates a key whose policy requires one vote by ada or ben. */
async function guarded(): Promise<Guarded> {
  const { key, policy } = await newGuardedKey(place, [{ members: [ada, ben], threshold: 1 }]);
  return { key, policy: policy.body };
}

/** Adds a second policy for the key, which requires a vote by eve. */
async function addPolicy(key: string, extra: object = {}): Promise<void> {
  const policy = { name: unique('stricter'), keys: [key], stages: [{ group: eves, threshold: 1 }], ...extra };
  expect((await call('POST', '/api/v1/approval-policies', policy)).status).toBe(201);
}

async function change({ policy, key }: Guarded, extra: object): Promise<void> {
  const { body, headers } = await call('GET', `/api/v1/approval-policies/${policy.id}`);
  const { name, stages } = body;
  const order = { name, stages, keys: [key.name], ...extra };
  const etag = { 'if-match': headers.get('etag') ?? '' };
  expect((await call('PUT', `/api/v1/approval-policies/${policy.id}`, order, etag)).status).toBe(200);
}

const order = ({ key }: Guarded, extra: object = {}) => ({ digest: digestOf(randomUUID()), key: key.name, ...extra });
const voted = async (approvalId: string, person: Approver, comment?: string) => {
  const { status, body } = await vote(place.service, approvalId, person, {
    body: comment === undefined ? {} : { comment },
  });
  expect({ status, body }).toMatchObject({ status: 200 });
  return body;
};

interface Evidence {
  readonly log: { readonly leaves: { readonly data: string }[] };
}

/** Returns the evidence of a signed request after checking that the evidence is complete. */
async function evidenceOf(requestId: string): Promise<Evidence> {
  expect((await read(place.service, place.apiKey, requestId)).body.status).toBe('SIGNED');
  const evidence = await until('the evidence', 30, async () => {
    const { status, body } = await call('GET', `/api/v1/sign/requests/${requestId}/evidence`);
    return status === 200 && body;
  });
  expect(verifyEvidence(evidence)).toEqual([]);
  return evidence;
}

describe('a pending request when policies become stricter', () => {
  it('goes to the group of a new policy after the last vote, and earlier votes still count', async () => {
    const of = await guarded();
    const { requestId, approvalId } = await held(place, order(of));
    await addPolicy(of.key.name);
    expect(await voted(approvalId, ada)).toMatchObject({ status: 'PENDING', stage: 1 });
    const { body } = await approval(place, approvalId);
    expect(body).toMatchObject({
      status: 'PENDING',
      stages: [{ threshold: 1 }, { group: { id: eves }, threshold: 1 }],
      votes: [{ decision: 'APPROVE', stage: 0 }],
    });
    expect((await read(place.service, place.apiKey, requestId, 0)).body.status).toBe('PENDING_APPROVAL');
    expect(await voted(approvalId, eve)).toMatchObject({ status: 'APPROVED' });
    const evidence = await evidenceOf(requestId);
    const { leaves } = evidence.log;
    const isVote = ({ data }: { data: string }) => Buffer.from(data, 'base64').toString().includes('approval.approved');
    const without = leaves.filter((leaf) => leaf !== leaves.findLast(isVote));
    const faults = verifyEvidence({ ...evidence, log: { ...evidence.log, leaves: without } } as never);
    expect(faults.join()).toMatch(/entries about its approval are missing: 1/);
  });

  it('requires one more person of its group when the threshold was raised', async () => {
    const of = await guarded();
    const { requestId, approvalId } = await held(place, order(of));
    await change(of, { stages: of.policy.stages.map(({ group }) => ({ group, threshold: 2 })) });
    expect(await voted(approvalId, ada)).toMatchObject({ status: 'PENDING' });
    expect((await vote(place.service, approvalId, ada)).body.code).toBe('approval.voted');
    expect(await voted(approvalId, ben)).toMatchObject({ status: 'APPROVED' });
    await evidenceOf(requestId);
  });

  it('requires a vote with a comment if the policy now requires one', async () => {
    const of = await guarded();
    const { requestId, approvalId } = await held(place, order(of));
    await change(of, { commentRequired: true });
    expect(await voted(approvalId, ada)).toMatchObject({ status: 'PENDING' });
    expect((await vote(place.service, approvalId, ben)).body.code).toBe('approval.comment-required');
    expect(await voted(approvalId, ben, 'Built from the tag.')).toMatchObject({ status: 'APPROVED' });
    await evidenceOf(requestId);
  });

  it('is rejected by the number of rejections that is now sufficient', async () => {
    const of = await guarded();
    await change(of, { rejectThreshold: 2 });
    const { requestId, approvalId } = await held(place, order(of));
    expect((await vote(place.service, approvalId, ada, { decision: 'reject' })).body.status).toBe('PENDING');
    await change(of, { rejectThreshold: 1 });
    expect(await voted(approvalId, ben)).toMatchObject({ status: 'REJECTED' });
    expect((await read(place.service, place.apiKey, requestId)).body.failure.code).toBe('approval.rejected');
  });

  it('requires nothing more when policies became weaker, or a new one covers other keys', async () => {
    const of = await guarded();
    const { requestId, approvalId } = await held(place, order(of));
    await addPolicy((await guarded()).key.name);
    await change(of, { conditions: [{ fact: 'format', op: 'in', values: ['cms'] }] });
    expect(await voted(approvalId, ada)).toMatchObject({ status: 'APPROVED' });
    await evidenceOf(requestId);
  });

  it('waits again in a batch, and as a request through a facade', async () => {
    const of = await guarded();
    const items = [1, 2].map((i) => ({ digest: digestOf(randomUUID()), metadata: { filename: `${i}.exe` } }));
    const { body: batch } = await call('POST', '/api/v1/sign/batch', { items, key: of.key.name });
    const [{ approvalId }] = batch.items;
    const facade = await call('POST', `/v1/transit/sign/${of.key.name}`, {
      input: digestOf(randomUUID()),
      prehashed: true,
      hash_algorithm: 'sha2-256',
    });
    const instance = facade.body.errors?.join(' ') ?? facade.body.detail ?? '';
    const [requestId = ''] = /[0-9a-f-]{36}/.exec(instance) ?? [];
    const { body: waiting } = await read(place.service, place.apiKey, requestId, 0);
    await addPolicy(of.key.name);
    for (const id of [approvalId, waiting.approvalId]) {
      expect(await voted(id, ada)).toMatchObject({ status: 'PENDING', stage: 1 });
      expect(await voted(id, eve)).toMatchObject({ status: 'APPROVED' });
    }
    for (const id of [requestId, ...batch.items.map((item: { requestId: string }) => item.requestId)])
      await evidenceOf(id);
  });

  it('is approved again under the current policies when its key was rotated', async () => {
    const of = await guarded();
    const { requestId, approvalId } = await held(place, order(of));
    await addPolicy(of.key.name, { expiresInSeconds: 3600 });
    await call('POST', `/api/v1/signing-keys/${of.key.id}/rotate`, {});
    const renewed = await until('another approval', 30, async () => {
      const { body } = await read(place.service, place.apiKey, requestId, 0);
      return body.approvalId !== approvalId && (body.approvalId as string);
    });
    const { body } = await approval(place, renewed);
    expect(body.stages.map((stage: { group: { id: string } }) => stage.group.id)).toContain(eves);
    expect(Date.parse(body.expiresAt) - Date.parse(body.createdAt)).toBeLessThanOrEqual(3600_000);
    for (const person of [ada, eve]) await voted(renewed, person);
    await evidenceOf(requestId);
  });
});

describe('an approved but unsigned request when policies become stricter', () => {
  it('waits for the new stages when a worker claims it, and a batch is approved again', async () => {
    const one = await guarded();
    const many = await guarded();
    await worker.kill('SIGKILL');
    const single = await held(place, order(one));
    const items = [1, 2].map((i) => ({ digest: digestOf(randomUUID()), metadata: { filename: `${i}.exe` } }));
    const { body: batch } = await call('POST', '/api/v1/sign/batch', { items, key: many.key.name });
    const old = batch.items[0].approvalId as string;
    for (const id of [single.approvalId, old]) expect(await voted(id, ada)).toMatchObject({ status: 'APPROVED' });
    for (const { key } of [one, many]) await addPolicy(key.name);
    worker = await place.stage.start({ role: 'worker' });
    const waiting = async (id: string): Promise<string> => {
      const claimed = await until('the claim', 30, async () => {
        const { body } = await read(place.service, place.apiKey, id, 0);
        return !['QUEUED', 'PROCESSING'].includes(body.status) && body;
      });
      expect(claimed.status).toBe('PENDING_APPROVAL');
      return claimed.approvalId;
    };
    expect(await waiting(single.requestId)).toBe(single.approvalId);
    expect((await approval(place, single.approvalId)).body).toMatchObject({ status: 'PENDING', votes: [{ stage: 0 }] });
    expect(await voted(single.approvalId, eve)).toMatchObject({ status: 'APPROVED' });
    await evidenceOf(single.requestId);
    const renewed = await waiting(batch.items[0].requestId as string);
    expect(renewed).not.toBe(old);
    for (const person of [ada, eve]) await voted(renewed, person);
    for (const { requestId } of batch.items) await evidenceOf(requestId);
  });
});
