import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Approver, type ApprovalFixture, held, newApprover, newApprovers, newGroup, newGuardedKey, openApprovalFixture, unique, vote } from '../approvals/approvers.js'; // prettier-ignore
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { createKey, digestOf, read } from '../support/signing.js';

/** The attacker owns the database but does not have the service's settings. Each test changes columns of an approval or of the pending request. */
let place: ApprovalFixture;
let service: Service;
let apiKey: string;
const sql: ApprovalFixture['stage']['sql'] = (text, values) => place.stage.sql(text, values);

beforeAll(async () => {
  place = await openApprovalFixture();
  ({ service, apiKey } = place);
});
afterAll(() => place.stage.close());

const change = async (id: string, body: object) =>
  expect((await service.call('PATCH', `/api/settings/users/${id}`, { key: apiKey, body })).status).toBe(200);
const statusOf = async (requestId: string) => (await read(service, apiKey, requestId)).body.status as string;

describe('an approval', () => {
  let ben: Approver;
  let eve: Approver;
  let key: string;

  beforeAll(async () => {
    [ben, eve] = (await newApprovers(place, 2)) as [Approver, Approver];
    ({ name: key } = (await newGuardedKey(place, [{ members: [ben, eve], threshold: 1 }])).key);
  });

  it('requires the number of rejections in the log, whatever its row contains', async () => {
    const { approvalId, requestId } = await held(place, { digest: digestOf(unique('rules')), key });
    await sql('UPDATE approval SET reject_threshold = 99 WHERE id = $1', [approvalId]);
    const rejected = await vote(service, approvalId, ben, { decision: 'reject', body: { comment: 'malware' } });
    expect([rejected.status, rejected.body.status]).toEqual([200, 'REJECTED']);
    expect(await statusOf(requestId)).toBe('FAILED');
  });

  it('is withdrawn when the requester in the log was disabled, whatever its row contains', async () => {
    const asker = await newApprover(place);
    await change(asker.id, { roles: ['operator'] });
    const order = { key: asker.accessToken, body: { digest: digestOf(unique('lost')), key } };
    const { body } = await service.call('POST', '/api/v1/sign/digest', order);
    await change(asker.id, { disabled: true });
    await sql(`UPDATE approval SET requested_by = 'x', owner_id = 'x' WHERE id = $1`, [body.approvalId]);
    expect((await vote(service, body.approvalId, ben)).body.status).toBe('WITHDRAWN');
  });

  it('is shown with title and document as logged or not at all, and accepts no votes for another document', async () => {
    const { approvalId } = await held(place, { digest: digestOf(unique('evil')), key });
    const other = { digest: digestOf('good'), action: 'sign' };
    await sql(`UPDATE approval SET title = 'Sign good.bin', shown = $2 WHERE id = $1`, [
      approvalId,
      JSON.stringify(other),
    ]);
    const { body } = await service.call('GET', `/api/v1/approvals/${approvalId}`, { key: ben.accessToken });
    expect(body).toMatchObject({ title: 'This approval was modified in the database', shown: {} });
    assertProblem(await vote(service, approvalId, ben), { status: 409, code: 'approval.mismatch' });
    await sql(`UPDATE approval SET title = 'Sign good.bin' WHERE id = $1`, [approvalId]);
    const { body: list } = await service.call('GET', '/api/v1/approvals?limit=1', { key: ben.accessToken });
    expect(JSON.stringify(list)).not.toContain('good.bin');
  });

  it('repeats an earlier stage when its voter has left the group or lost the role', async () => {
    const [ann, bob] = (await newApprovers(place, 2)) as [Approver, Approver];
    const stages = [
      { members: [ann, eve], threshold: 1 },
      { members: [bob], threshold: 1 },
    ];
    const { key: guarded } = await newGuardedKey(place, stages);
    const { approvalId, requestId } = await held(place, { digest: digestOf(unique('left')), key: guarded.name });
    expect((await vote(service, approvalId, ann)).body.stage).toBe(1);
    await change(ann.id, { roles: ['viewer'] });
    const last = await vote(service, approvalId, bob);
    expect([last.status, last.body.status, last.body.stage]).toEqual([200, 'PENDING', 2]);
    expect(await statusOf(requestId)).toBe('PENDING_APPROVAL');
    expect((await vote(service, approvalId, eve)).body.status).toBe('APPROVED');
    await expect.poll(() => statusOf(requestId), { timeout: 10_000 }).toBe('SIGNED');
  });

  it('is not renewed over different content: a pending request that was replaced is not signed', async () => {
    const release = await createKey(service, apiKey, { name: unique('release'), type: 'ec-p256' });
    const { body: group } = await newGroup(place, [ben]);
    const policy = { name: unique('policy'), keys: [release.name], stages: [{ group: group.id, threshold: 1 }] };
    expect((await service.call('POST', '/api/v1/approval-policies', { key: apiKey, body: policy })).status).toBe(201);
    const order = () => ({ key: release.name, digest: digestOf(unique('good')) });
    const approvalOf = async (id: string) => (await read(service, apiKey, id)).body.approvalId as string;
    const before = await held(place, order());
    const { approvalId, requestId } = await held(place, order());
    const after = await held(place, order());
    const evil = Buffer.from(digestOf(unique('evil')), 'base64');
    await sql('UPDATE signing_request SET digest = $2 WHERE id = $1', [requestId, evil]);
    const rotated = await service.call('POST', `/api/v1/signing-keys/${release.id}/rotate`, { key: apiKey });
    expect(rotated.status).toBeLessThan(300);
    // A single sweep processes all pending requests for the key, so the replaced request has been processed once the other two have new approvals.
    for (const one of [before, after])
      await expect.poll(() => approvalOf(one.requestId), { timeout: 10_000 }).not.toBe(one.approvalId);
    expect(await approvalOf(requestId)).toBe(approvalId);
    expect((await vote(service, approvalId, ben)).status).toBe(200);
    await expect.poll(() => statusOf(requestId), { timeout: 10_000 }).toBe('FAILED');
    expect(await approvalOf(requestId)).toBe(approvalId);
  });
});
