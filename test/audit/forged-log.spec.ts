import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENTRY_COLUMNS, type EntryRow } from '../../src/audit/entries/entry-row.js';
import { logLeafOf } from '../../src/audit/log/log-leaf.js';
import { leafHash } from '../../src/verifier/merkle-tree.js';
import { type Approver, type ApprovalFixture, heldFor, newApprovers, newGroup, openApprovalFixture, unique, vote } from '../approvals/approvers.js'; // prettier-ignore
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf, until } from '../support/signing.js';
import { DatabaseOwner } from './database-owner.js';

/** The attacker owns the database but does not have the service's settings. Each test replays genuine data: old audit log entries or old policies. */
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

describe('a signed leaf that was replaced in the database', () => {
  it('changes nothing in a process that reads it before its root, once the leaf is restored', async () => {
    const settled = () =>
      until('a checkpoint covers all entries', 45, async () => {
        const [row] = await sql<{ isOpen: boolean }>(
          `SELECT EXISTS (SELECT FROM log_waiting) OR (SELECT size FROM log_head) <> coalesce((SELECT max(size) FROM log_checkpoint), 0) AS "isOpen"`,
        );
        return row?.isOpen === false;
      });
    const read = () => service.call('GET', '/api/v1/signing-keys', { key: apiKey });
    const created = await service.call('POST', '/v1/ssh-ca', {
      key: apiKey,
      body: { name: unique('ca'), kind: 'user' },
    });
    const authority = created.body.id as string;
    const isRevoked = async () => {
      const list = await fetch(`${service.url}/v1/ssh-ca/${authority}/krl`);
      return Buffer.from(await list.arrayBuffer()).includes('forged-key-id');
    };
    await settled();
    await read();
    await expect.poll(isRevoked).toBe(false);
    // A process reads the log at most every five seconds, so it has not read the next leaf yet.
    await sleep(6000);
    await read();
    await sleep(1000);
    const id = `7${randomUUID().slice(1)}`;
    await attacker.unlocked(
      `INSERT INTO audit_entry (id, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail)
       VALUES ('${id}', 'ssh-ca.revoked', 'done', 'user', 'x', 'x', 'ssh-ca', '${authority}', 'x', '', '{"kind": "keyId", "value": "forged-key-id"}')`,
    );
    const [entry] = await sql<EntryRow>(`SELECT ${ENTRY_COLUMNS} FROM audit_entry e WHERE e.id = $1`, [id]);
    const newKey = { name: unique('key'), type: 'ec-p256' };
    expect((await service.call('POST', '/api/v1/signing-keys', { key: apiKey, body: newKey })).status).toBe(201);
    await settled();
    const [last] = await sql<{ index: string }>(`SELECT index FROM log_leaf ORDER BY index DESC LIMIT 1`);
    const index = Number(last?.index);
    const leaf = await keep('log_leaf', `index = ${index}`);
    const tile = await keep('log_tile', `level = 0 AND index = ${Math.floor(index / 256)}`);
    await sql(`UPDATE log_leaf SET entry_id = $1, kind = 'entry' WHERE index = $2`, [id, index]);
    await sql(`UPDATE log_tile SET hashes = overlay(hashes placing $1 FROM $2) WHERE level = 0 AND index = $3`, [
      leafHash(logLeafOf(entry as EntryRow)),
      (index % 256) * 32 + 1,
      Math.floor(index / 256),
    ]);
    for (const end = Date.now() + 8000; Date.now() < end; await sleep(1000)) await read();
    await leaf();
    await tile();
    await attacker.unlocked(`DELETE FROM audit_entry WHERE id = '${id}'`);
    for (const end = Date.now() + 12_000; Date.now() < end; await sleep(1000)) await read();
    expect(await isRevoked()).toBe(false);
  }, 150_000);
});
