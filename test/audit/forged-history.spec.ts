import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApprovalFixture, type Approver, held, heldFor, newApprover, newApprovers, newGroup, newGuardedKey, openApprovalFixture, unique, vote } from '../approvals/approvers.js'; // prettier-ignore
import { makeClient, postForm } from '../auth/oauth-calls.js';
import { idOf, register } from '../auth/people.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf, read } from '../support/signing.js';
import { DatabaseOwner } from './database-owner.js';

/** The attacker owns the database and reverts past events, either by restoring earlier rows with their seals or by temporarily hiding audit log entries. */
let place: ApprovalFixture;
let service: Service;
let apiKey: string;
let attacker: DatabaseOwner;
const sql: ApprovalFixture['stage']['sql'] = (text, values) => place.stage.sql(text, values);

beforeAll(async () => {
  place = await openApprovalFixture();
  ({ service, apiKey } = place);
  attacker = new DatabaseOwner(place.stage);
});
afterAll(() => place.stage.close());

const statusOf = async (requestId: string) => (await read(service, apiKey, requestId)).body.status as string;
/** Waits until the process has read the entry from the signed log. Each vote makes the process read the log. */
async function isRead(entry: string, member: Approver): Promise<void> {
  const leaves = () => sql(`SELECT 1 FROM log_leaf JOIN audit_entry e ON e.id = entry_id WHERE ${entry}`);
  await expect.poll(leaves, { timeout: 20_000 }).not.toEqual([]);
  const size = `SELECT (SELECT max(size) FROM log_checkpoint) >= (SELECT max(index) + 1 FROM log_leaf) AS signed`;
  await expect.poll(() => sql(size), { timeout: 20_000 }).toEqual([{ signed: true }]);
  const { approvalId } = await heldFor(place, [member]);
  expect((await vote(service, approvalId, member)).status).toBe(200);
}

describe('a rejection whose entry is missing for a moment', () => {
  it('counts, and two of two end the request', async () => {
    const [ann, ben, cy] = (await newApprovers(place, 3)) as [Approver, Approver, Approver];
    const { key } = await newGuardedKey(place, [{ members: [ann, ben, cy], threshold: 1 }], { rejectThreshold: 2 });
    const { requestId, approvalId } = await held(place, { digest: digestOf(unique('x')), key: key.name });
    const no = { decision: 'reject', body: { comment: 'malware' } } as const;
    expect((await vote(service, approvalId, ann, no)).body.status).toBe('PENDING');
    const entry = `target_id = '${approvalId}' AND action = 'approval.rejected' AND actor_id = '${ann.id}'`;
    await isRead(entry, ben);
    const back = await attacker.keep('audit_entry', entry);
    await attacker.unlocked(`DELETE FROM audit_entry WHERE ${entry}`);
    expect((await vote(service, approvalId, ben, no)).body.status).not.toBe('PENDING');
    await vote(service, approvalId, cy);
    await sql('ALTER TABLE audit_entry DISABLE TRIGGER USER');
    await back();
    await sql('ALTER TABLE audit_entry ENABLE TRIGGER USER');
    expect(await statusOf(requestId)).not.toBe('SIGNED');
  });
});

describe('earlier policies that were put back', () => {
  it('are not made valid by the next change', async () => {
    const ann = await newApprover(place);
    const { key, policy, groups } = await newGuardedKey(place, [{ members: [ann], threshold: 1 }]);
    const path = `/api/v1/approval-policies/${policy.body.id}`;
    const body = { name: policy.body.name, keys: [key.name], stages: [{ group: groups[0]?.body.id, threshold: 1 }] };
    const set = await attacker.keep('approval_policy_revision', 'true');
    const rows = await attacker.keep('approval_policy', 'true');
    const changed = { ...body, commentRequired: true };
    const put = (revision: number, order: object) =>
      service.call('PUT', path, { key: apiKey, headers: { 'if-match': `"${revision}"` }, body: order });
    expect((await put(1, changed)).status).toBe(200);
    const newer = [
      await attacker.keep('approval_policy', 'true'),
      await attacker.keep('approval_policy_revision', 'true'),
    ];
    await rows();
    await set();
    assertProblem(await put(1, body), { status: 503, code: 'approval-policy.changed' });
    for (const back of newer) await back();
    expect((await put(2, body)).status).toBe(200);
  });
});

describe('an earlier account', () => {
  it('is not used as a basis: a removed role is not granted again together with another role', async () => {
    const member = await newApprover(place);
    const path = `/api/settings/users/${member.id}`;
    const patch = (roles: string[]) => service.call('PATCH', path, { key: apiKey, body: { roles } });
    const back = await attacker.keep('user_account', `id = '${member.id}'`);
    expect((await patch(['viewer'])).status).toBe(200);
    await isRead(`target_id = '${member.id}' AND detail -> 'roles' = '["viewer"]'`, await newApprover(place));
    await back();
    assertProblem(await patch(['approver', 'viewer']), { status: 409, code: 'row.not-sealed' });
    expect(await attacker.doctor()).toContain(`row ${member.id} of user_account is an earlier version`);
  });

  it('does not make room for a second account of the same person', async () => {
    const person = await register(service, 'twin');
    const id = await idOf(place.stage, person.email);
    await isRead(`action = 'user.created' AND target_id = '${id}'`, await newApprover(place));
    const back = await attacker.keep('user_account', `email = '${person.email}'`);
    await sql(`DELETE FROM user_account WHERE email = $1`, [person.email]);
    const again = await service.call('POST', '/api/auth/register', {
      body: { email: person.email, password: person.password },
    });
    assertProblem(again, { status: 409, code: 'row.not-sealed' });
    await back();
  });
});

describe('a credential that SQL marked as revoked', () => {
  it('is revoked by the administrator, and remains revoked when the mark is removed', async () => {
    const made = await newApiKey(service, apiKey, ['keys:read']);
    const client = await makeClient(service, apiKey, ['keys:read']);
    const token = () =>
      postForm(service, '/oauth/token', {
        grant_type: 'client_credentials',
        client_id: client.client_id,
        client_secret: client.client_secret,
      });
    expect((await token()).status).toBe(200);
    await sql(`UPDATE api_key SET revoked_at = now() WHERE id = $1`, [made.id]);
    await sql(`UPDATE oauth_client SET revoked_at = now() WHERE id = $1`, [client.client_id]);
    for (const path of [`api-keys/${made.id}`, `oauth-clients/${client.client_id}`])
      expect((await service.call('DELETE', `/api/settings/${path}`, { key: apiKey })).status).toBe(204);
    await sql(`UPDATE api_key SET revoked_at = NULL WHERE id = $1`, [made.id]);
    await sql(`UPDATE oauth_client SET revoked_at = NULL WHERE id = $1`, [client.client_id]);
    await expect
      .poll(async () => (await service.call('GET', '/v1/keys', { key: made.key })).status, { timeout: 20_000 })
      .toBe(401);
    await expect.poll(async () => (await token()).status, { timeout: 20_000 }).toBe(401);
    const rows = await sql(`SELECT 1 FROM audit_entry WHERE action LIKE '%.revoked' AND target_id = ANY($1)`, [
      [made.id, client.client_id],
    ]);
    expect(rows).toHaveLength(2);
  });
});

describe('a signed request', () => {
  it('is not signed again when its row is put back into the queue', async () => {
    const { body } = await service.call('POST', '/api/v1/sign/digest', {
      key: apiKey,
      body: { digest: digestOf(unique('once')) },
    });
    const back = `UPDATE signing_request SET status = 'QUEUED', signature = NULL, finished_at = NULL, sweep_at = now() WHERE id = $1`;
    await sql(back, [body.requestId]);
    await expect.poll(() => statusOf(body.requestId), { timeout: 20_000 }).toBe('FAILED');
    const signed = await sql(`SELECT 1 FROM audit_entry WHERE target_id = $1 AND action = 'signing.signed'`, [
      body.requestId,
    ]);
    expect(signed).toHaveLength(1);
  });
});

describe('a group whose entries are missing for a moment', () => {
  it('does not give up its name to another group', async () => {
    const member = await newApprover(place);
    const [former, present] = [await newGroup(place, [member]), await newGroup(place, [member])];
    const name = present.body.name as string;
    const entries = `target_id IN ('${former.body.id}', '${present.body.id}')`;
    await isRead(entries, member);
    await sql(`UPDATE approver_group SET name = 'aside' WHERE id = $1`, [present.body.id]);
    await sql(`UPDATE approver_group SET name = $2 WHERE id = $1`, [former.body.id, name]);
    const back = await attacker.keep('audit_entry', entries);
    await attacker.unlocked(`DELETE FROM audit_entry WHERE ${entries}`);
    const body = { name: unique('policy'), keys: ['*'], stages: [{ group: name, threshold: 1 }] };
    const made = await service.call('POST', '/api/v1/approval-policies', { key: apiKey, body });
    await sql('ALTER TABLE audit_entry DISABLE TRIGGER USER');
    await back();
    await sql('ALTER TABLE audit_entry ENABLE TRIGGER USER');
    assertProblem(made, { status: 409, code: 'row.not-sealed' });
  });
});
