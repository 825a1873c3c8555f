import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Approver, type ApprovalFixture, heldFor, newApprovers, newGroup, openApprovalFixture, unique, vote } from '../approvals/approvers.js'; // prettier-ignore
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf } from '../support/signing.js';
import { DatabaseOwner } from './database-owner.js';

/** The attacker owns the database but does not have the service's settings, and replays genuine data: old entries of the audit log, old policies. */
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

const keep: DatabaseOwner['keep'] = (table, where) => attacker.keep(table, where);
const doctor = () => attacker.doctor();

describe('approval policies that were rolled back in the database', () => {
  it('stop the first signature of a new process until the latest are restored or an operator accepts them', async () => {
    const [ben] = await newApprovers(place, 1);
    const { body: group } = await newGroup(place, [ben as Approver]);
    const key = { name: unique('key') };
    const newKey = { key: apiKey, body: { name: key.name, type: 'ec-p256' } };
    expect((await service.call('POST', '/api/v1/signing-keys', newKey)).status).toBe(201);
    const digest = () => ({ digest: digestOf(unique('policies')), key: key.name });
    const sign = (at: Service) => at.call('POST', '/api/v1/sign/digest', { key: apiKey, body: digest() });
    const tables = ['approval_policy', 'approval_policy_revision'];
    const keepAll = async () => {
      const back = await Promise.all(tables.map((table) => keep(table, 'true')));
      return () => Promise.all(back.map((one) => one()));
    };
    const older = await keepAll();
    const policy = { name: unique('P'), keys: [key.name], stages: [{ group: group.id as string, threshold: 1 }] };
    const made = await service.call('POST', '/api/v1/approval-policies', { key: apiKey, body: policy });
    expect(made.status).toBe(201);
    const newer = await keepAll();
    await older();
    const restarted = await place.stage.start({ role: 'api' });
    assertProblem(await sign(restarted), { status: 503, code: 'approval-policy.changed' });
    expect(await doctor()).toContain(`approval policy ${made.body.id} is at revision 0, but the log is at revision 1`);
    await newer();
    await expect.poll(async () => (await sign(restarted)).status, { timeout: 10_000 }).toBe(202);
    await restarted.kill('SIGKILL');
  });
});

describe('a replayed audit log entry', () => {
  it('counts once and does not revert what was logged after it', async () => {
    const [ben, eve] = await newApprovers(place, 2);
    const { approvalId, group } = await heldFor(place, [ben as Approver, eve as Approver]);
    const membership = await keep('approver_group_member', `group_id = '${group.id}' AND user_id = '${eve?.id}'`);
    const body = { name: group.name, members: [ben?.id] };
    const path = `/api/v1/approver-groups/${group.id}`;
    const changed = await service.call('PUT', path, {
      key: apiKey,
      body,
      headers: { 'If-Match': `"${group.version}"` },
    });
    expect(changed.status).toBe(200);
    await membership();
    const again = `target_id = '${group.id}' AND action = 'approver-group.created'`;
    const logged = () =>
      sql<{ index: string }>(`SELECT index FROM log_leaf JOIN audit_entry e ON e.id = entry_id WHERE ${again}`);
    await expect.poll(logged).toHaveLength(1);
    const beyond = 'index = 900000000000';
    await sql(`INSERT INTO log_leaf SELECT 900000000000, id, 'entry' FROM audit_entry WHERE ${again}`);
    assertProblem(await vote(service, approvalId, eve as Approver), { status: 403, code: 'approval.rights-ended' });
    await sql(`DELETE FROM log_leaf WHERE ${beyond}`);
    await sql(`INSERT INTO log_waiting SELECT id FROM audit_entry WHERE ${again}`);
    assertProblem(await vote(service, approvalId, eve as Approver), { status: 403, code: 'approval.rights-ended' });
    await expect
      .poll(async () => sql(`SELECT 1 FROM log_waiting JOIN audit_entry e ON e.id = entry_id WHERE ${again}`))
      .toEqual([]);
    expect(await logged()).toHaveLength(1);
    assertProblem(await vote(service, approvalId, eve as Approver), { status: 403, code: 'approval.rights-ended' });
    await expect
      .poll(async () => sql(`SELECT 1 FROM audit_entry WHERE action = 'row.refused' AND target_kind = 'log_waiting'`))
      .toHaveLength(1);
  });

  it('counts once even if its first number was removed', async () => {
    const [ben, eve] = await newApprovers(place, 2);
    const { approvalId, group } = await heldFor(place, [ben as Approver, eve as Approver]);
    const membership = await keep('approver_group_member', `group_id = '${group.id}' AND user_id = '${eve?.id}'`);
    const body = { name: group.name, members: [ben?.id] };
    const path = `/api/v1/approver-groups/${group.id}`;
    await service.call('PUT', path, { key: apiKey, body, headers: { 'If-Match': `"${group.version}"` } });
    await membership();
    assertProblem(await vote(service, approvalId, eve as Approver), { status: 403, code: 'approval.rights-ended' });
    const entry = `(SELECT id FROM audit_entry WHERE target_id = '${group.id}' AND action = 'approver-group.created')`;
    const numbers = () => sql<{ index: string }>(`SELECT index FROM log_leaf WHERE entry_id = ${entry}`);
    await expect.poll(numbers).toHaveLength(1);
    const [leaf] = await numbers();
    const number = await keep('log_leaf', `index = ${leaf?.index}`);
    await sql(`DELETE FROM log_leaf WHERE index = ${leaf?.index}; INSERT INTO log_waiting SELECT ${entry}`);
    await expect.poll(numbers).toHaveLength(1);
    const refused = await vote(service, approvalId, eve as Approver);
    expect(['approval.rights-ended', 'audit-log.incomplete']).toContain(refused.body.code);
    await number();
    expect(await doctor()).toContain('appears twice in the log');
  });
});
