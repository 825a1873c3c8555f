import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SEQUENCER_LOCK } from '../../src/audit/log/sequencer-lock.js';
import { canonicalJson } from '../../src/platform/json/canonical-json.js';
import { noteText } from '../../src/verifier/signed-note.js';
import { type Approver, held, newApprovers, newGuardedKey, type Place, vote } from '../approvals/approvers.js';
import { sealwright } from '../client/program.js';
import { accepted } from '../support/accepted-log.js';
import { runToEnd, type Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, read, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/**
 * Somebody has the database: as its owner, with every trigger off. Each test is one way to make it say something that did not happen;
 * it must be refused, or the auditor who kept the log's key and a checkpoint must hear of it.
 */
let stage: Stage;
let service: Service;
let apiKey: string;
let place: Place;
const directory = mkdtempSync(join(tmpdir(), 'sealwright-writer-'));
const at = (name: string) => join(directory, name);

const sql = <Row extends object>(text: string, values?: unknown[]) => stage.sql<Row>(text, values);
const get = async (path: string) => (await service.call('GET', path, { key: apiKey })).body;

interface Verdict {
  readonly code: number;
  readonly valid: boolean;
  readonly findings: readonly { readonly detail: string }[];
}

/** `log verify` as an auditor runs it, with what they kept. What is found right becomes what they kept. */
async function verified(): Promise<Verdict> {
  const env = { SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: apiKey };
  const args = ['log', 'verify', '--key', at('log.pem'), '--state', at('log.state'), '-o', 'json'];
  const { code, out, err } = await sealwright(args, { env });
  if (out === '') throw new Error(err);
  return { code, ...(JSON.parse(out) as Omit<Verdict, 'code'>) };
}

const found = async () => (await verified()).findings.map(({ detail }) => detail).join('; ');

/** `evidence verify` of what the service gives for a request. */
async function evidenceFaults(requestId: string, change: (evidence: any) => void = () => undefined): Promise<string[]> {
  const evidence = await get(`/api/v1/sign/requests/${requestId}/evidence`);
  change(evidence);
  const file = at(`${requestId}.json`);
  writeFileSync(file, JSON.stringify(evidence));
  const { out } = await sealwright(['evidence', 'verify', file, '--key', at('log.pem'), '-o', 'json']);
  return (JSON.parse(out) as { faults: string[] }).faults;
}

/** Waits until every entry is under a signed checkpoint. */
async function settled(): Promise<void> {
  await until('a checkpoint over all', 45, async () => {
    const [row] = await sql<{ open: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM log_waiting) OR (SELECT size FROM log_head) <> coalesce((SELECT max(size) FROM log_checkpoint), 0) AS open`,
    );
    return row?.open === false;
  });
}

const logHealth = async (): Promise<string> => {
  const { body } = await service.call('GET', '/actuator/health', { key: apiKey });
  return JSON.stringify(body);
};

async function signedBy(key: string, text: string) {
  const { status, body } = await sign(service, { key: apiKey, body: { digest: digestOf(text), key } });
  return { status, code: body.code as string | undefined, id: body.requestId as string };
}

/** What becomes of a request that SQL put into the queue. */
async function ended(id: string): Promise<{ status: string; code: string | null; signature: Buffer | null }> {
  return until('an end', 45, async () => {
    const [row] = await sql<{ status: string; code: string | null; signature: Buffer | null }>(
      `SELECT status, failure_code AS code, signature FROM signing_request WHERE id = $1`,
      [id],
    );
    return row !== undefined && ['SIGNED', 'FAILED'].includes(row.status) && row;
  });
}

async function insertEntry(action: string, target: { kind: string; id: string }, detail: object = {}, actor = 'ann') {
  const id = (await sql<{ id: string }>(`SELECT uuidv7() AS id`).catch(() => [{ id: randomUUID() }]))[0]?.id ?? '';
  await sql(
    `INSERT INTO audit_entry (id, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail)
     VALUES ($1, $2, 'done', 'user', $3, 'Ann Example', $4, $5, 'x', '', $6)`,
    [id, action, actor, target.kind, target.id, JSON.stringify(detail)],
  );
  return id;
}

/** A row of the queue for this key, as the service would write one. */
async function insertQueued(key: PublishedKey, change: Record<string, unknown> = {}): Promise<string> {
  const id = randomUUID();
  const row = {
    id,
    status: 'QUEUED',
    digest: randomBytes(32),
    algorithm: 'sha256',
    scheme: 'ecdsa-der',
    format: 'raw',
    key_id: key.id,
    key_name: key.name,
    key_version: 1,
    owner_id: randomUUID(),
    requested_by: randomUUID(),
    correlation: 'x',
    ...change,
  };
  const names = Object.keys(row);
  await sql(
    `INSERT INTO signing_request (${names.join(', ')}) VALUES (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
    Object.values(row),
  );
  return id;
}

/** Points the pair of a key at another object of the token, public key and all, and asks for a signature over a digest of our choice. */
async function pointedAt(name: string, other: string, digest = randomBytes(32)) {
  const key = await createKey(service, apiKey, { name, type: 'ec-p256' });
  await sql(`ALTER TABLE signing_key_version DROP CONSTRAINT IF EXISTS signing_key_version_cka_id`);
  await sql(
    `UPDATE signing_key_version v SET cka_id = o.cka_id, public_key = o.public_key FROM (${other}) o WHERE v.key_id = '${key.id}'`,
  );
  const { body } = await sign(service, { key: apiKey, body: { digest: digest.toString('base64'), key: name } });
  return body;
}

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  place = { stage, service, apiKey };
  await signedBy('default', 'the first');
  await settled();
  writeFileSync(at('log.pem'), (await get('/api/v1/audit/log/key')).publicKey as string);
  await sql(`ALTER TABLE audit_entry DISABLE TRIGGER ALL`);
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await stage.close();
});

it('nothing is found while nothing was done', async () => {
  expect(await verified()).toMatchObject({ code: 0, valid: true, findings: [] });
  expect(existsSync(at('log.state'))).toBe(true);
  expect(await logHealth()).not.toMatch(/log\.[a-z-]+:/);
});

describe('keys of other purposes', () => {
  it('the key of the log signs no checkpoint that somebody made up', async () => {
    const note = noteText({ origin: 'localhost/log', size: 7, root: randomBytes(32) });
    const digest = createHash('sha256').update(note).digest();
    const body = await pointedAt('as-log', `SELECT cka_id, public_key FROM log_key`, digest);
    expect([body.status, body.code]).toEqual([409, 'hsm.other-key']);
  });

  it('the key of the timestamp authority signs no digest of a caller', async () => {
    const tsa = await service.call('POST', '/api/v1/signing-keys', {
      key: apiKey,
      body: { name: 'stamps', type: 'ec-p256', purpose: 'timestamping' },
    });
    const pair = `SELECT cka_id, public_key FROM signing_key_version WHERE key_id = '${tsa.body.id}'`;
    expect((await pointedAt('as-tsa', pair)).code).toBe('hsm.other-key');
    await sql(`UPDATE signing_key SET purpose = 'signing', revision = revision + 1 WHERE id = $1`, [tsa.body.id]);
    expect((await signedBy(tsa.body.id, 'x')).code).toBe('hsm.other-key');
    await sql(`UPDATE signing_key SET purpose = 'timestamping' WHERE id = $1`, [tsa.body.id]);
  });

  it('the key of an SSH authority signs no digest of a caller', async () => {
    const made = await service.call('POST', '/v1/ssh-ca', { key: apiKey, body: { name: 'users', kind: 'user' } });
    expect([200, 201]).toContain(made.status);
    expect((await pointedAt('as-ca', `SELECT cka_id, public_key FROM ssh_authority LIMIT 1`)).code).toBe(
      'hsm.other-key',
    );
  });

  it('a guarded key does not sign under the name of one that is not', async () => {
    const members = await newApprovers(place, 1);
    const { key } = await newGuardedKey(place, [{ members, threshold: 1 }]);
    const pair = `SELECT cka_id, public_key FROM signing_key_version WHERE key_id = '${key.id}'`;
    expect((await pointedAt('as-guarded', pair)).code).toBe('hsm.other-key');
  });
});

describe('requests and approvals', () => {
  let members: Approver[];
  let guarded: PublishedKey;

  beforeAll(async () => {
    members = await newApprovers(place, 2);
    ({ key: guarded } = await newGuardedKey(place, [{ members, threshold: 2 }]));
  });

  it('a row that is put into the queue is not signed: the log does not know it', async () => {
    const free = await createKey(service, apiKey, { name: 'free', type: 'ec-p256' });
    for (const key of [guarded, free])
      expect(await ended(await insertQueued(key))).toMatchObject({ code: 'signing.not-logged', signature: null });
    const composed = await insertQueued(guarded, { composed: true });
    expect(await ended(composed)).toMatchObject({ code: 'signing.not-logged', signature: null });
  });

  it('nor is one with an entry that says it was accepted', async () => {
    const requestedBy = randomUUID();
    const digest = randomBytes(32);
    const id = randomUUID();
    const said = {
      to: 'QUEUED',
      attempt: 0,
      key: guarded.name,
      keyVersion: 1,
      algorithm: 'sha256',
      scheme: 'ecdsa-der',
    };
    const detail = { ...said, format: 'raw', digest: digest.toString('base64') };
    const entry = await insertEntry('signing.accepted', { kind: 'signing-request', id }, detail, requestedBy);
    await sql(`INSERT INTO log_waiting (entry_id) VALUES ($1)`, [entry]);
    await insertQueued(guarded, { id, digest, requested_by: requestedBy });
    expect(await ended(id)).toMatchObject({ code: 'signing.not-logged', signature: null });
    await settled();
    expect(await found()).toContain(`its entry ${entry} was not written by the service`);
  });

  it('a request that waits is not released by a changed state of its approval', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('flipped'), key: guarded.name });
    await sql(`UPDATE approval SET status = 'APPROVED', decided_at = now(), group_id = NULL WHERE id = $1`, [
      approvalId,
    ]);
    await sql(`UPDATE signing_request SET status = 'QUEUED', sweep_at = now() WHERE id = $1`, [requestId]);
    expect(await ended(requestId)).toMatchObject({ code: 'approval.mismatch', signature: null });
  });

  it('nor by votes that nobody gave, with entries of them or without', async () => {
    for (const withEntries of [false, true]) {
      const { requestId, approvalId } = await held(place, {
        digest: digestOf(`voted ${withEntries}`),
        key: guarded.name,
      });
      await sql(
        `INSERT INTO approval_vote (approval_id, user_id, user_name, decision, stage, hash)
         SELECT a.id, m.id, 'Ann Example', 'APPROVE', 0, a.hash FROM approval a, unnest($2::uuid[]) AS m(id) WHERE a.id = $1`,
        [approvalId, members.map(({ id }) => id)],
      );
      if (withEntries) {
        const [approval] = await sql<{ hash: Buffer }>(`SELECT hash FROM approval WHERE id = $1`, [approvalId]);
        const detail = {
          stage: 0,
          subject: 'signing-request',
          subjectId: requestId,
          hash: approval?.hash.toString('base64'),
        };
        for (const { id } of members) {
          const entry = await insertEntry('approval.approved', { kind: 'approval', id: approvalId }, detail, id);
          await sql(`INSERT INTO log_waiting (entry_id) VALUES ($1)`, [entry]);
        }
      }
      await sql(`UPDATE approval SET status = 'APPROVED', decided_at = now(), group_id = NULL WHERE id = $1`, [
        approvalId,
      ]);
      await sql(`UPDATE signing_request SET status = 'QUEUED', sweep_at = now() WHERE id = $1`, [requestId]);
      expect(await ended(requestId)).toMatchObject({ code: 'approval.mismatch', signature: null });
    }
    await settled();
    expect(await found()).toContain('was not written by the service');
  });

  it('a request that people approved is signed, and its evidence is whole', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('approved'), key: guarded.name });
    for (const member of members) await vote(service, approvalId, member);
    expect((await read(service, apiKey, requestId)).body.status).toBe('SIGNED');
    expect(await evidenceFaults(requestId)).toEqual([]);
  });

  it('what is changed in the rows of a signed request shows in its evidence', async () => {
    const { id } = await signedBy('default', 'to be changed');
    expect(await evidenceFaults(id)).toEqual([]);
    const [key] = await sql<{ evidence: object; publicKey: Buffer }>(
      `SELECT v.evidence, v.public_key AS "publicKey" FROM signing_key_version v JOIN signing_key k ON k.id = v.key_id WHERE k.name = 'default'`,
    );
    const change = (column: string, value: unknown) =>
      sql(
        `UPDATE signing_key_version v SET ${column} = $1 FROM signing_key k WHERE k.id = v.key_id AND k.name = 'default'`,
        [value],
      );
    await change('evidence', JSON.stringify({ ...key?.evidence, tokenModel: 'a better HSM' }));
    expect(await evidenceFaults(id)).toEqual(['the log has other attributes of the key']);
    await change('evidence', JSON.stringify(key?.evidence));
    const other = await createKey(service, apiKey, { name: 'another', type: 'ec-p256' });
    expect(await evidenceFaults(id, (evidence) => (evidence.key.publicKey = other.publicKey))).toEqual([
      'the log has another public key',
    ]);
    await sql(`UPDATE signing_request SET digest = $1 WHERE id = $2`, [randomBytes(32), id]);
    expect(await evidenceFaults(id)).toEqual([expect.stringMatching(/^the log has another digest/)]);
  });

  it('an approval that is cut out of the rows, or out of the file, is missed', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('cut out'), key: guarded.name });
    for (const member of members) await vote(service, approvalId, member);
    await read(service, apiKey, requestId);
    const cut = await evidenceFaults(requestId, (evidence) => {
      delete evidence.approval;
      delete evidence.request.approvalId;
      evidence.log.leaves = evidence.log.leaves.filter(
        ({ data }: { data: string }) => JSON.parse(Buffer.from(data, 'base64').toString()).target.id !== approvalId,
      );
    });
    expect(cut).toContain('its approval is left out');
    await sql(`UPDATE signing_request SET approval_id = NULL WHERE id = $1`, [requestId]);
    expect(await evidenceFaults(requestId)).toContain('its approval is left out');
  });

  it('each step that is cut out of the file is missed', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('steps'), key: guarded.name });
    for (const member of members) await vote(service, approvalId, member);
    await read(service, apiKey, requestId);
    const steps = ['signing.accepted', 'signing.approved', 'signing.claimed', 'signing.signed', 'approval.requested'];
    for (const step of [...steps, 'approval.decided', 'approval.approved']) {
      const faults = await evidenceFaults(requestId, (evidence) => {
        evidence.log.leaves = evidence.log.leaves.filter(
          ({ data }: { data: string }) => JSON.parse(Buffer.from(data, 'base64').toString()).action !== step,
        );
      });
      expect([step, faults.length > 0]).toEqual([step, true]);
    }
  });
});

describe('the log', () => {
  it('an inserted entry is shown as one without a leaf, found by every check, and no checkpoint is over it', async () => {
    await settled();
    const id = await insertEntry('approval.approved', { kind: 'approval', id: randomUUID() });
    const { items } = await get('/api/v1/audit/entries?action=approval.*&limit=200');
    const shown = items.find((item: { id: string }) => item.id === id);
    expect(shown).toMatchObject({ leaf: null, waitsSince: null });
    const others = items.filter((item: { id: string }) => item.id !== id);
    expect(others.every(({ leaf, waitsSince }: any) => (leaf === null) !== (waitsSince === null))).toBe(true);
    expect(await found()).toContain(`an entry is not in the log: {"id":"${id}"`);
    await until('health says so', 60, async () => (await logHealth()).includes('log.unlogged'));
    expect(service.log()).toContain(`the entry ${id} is not in the audit log`);
    await sql(`DELETE FROM audit_entry WHERE id = $1`, [id]);
    await until('health is well again', 60, async () => !(await logHealth()).includes('log.unlogged'));
  });

  it('an inserted entry with a row that it waits becomes a leaf that says who did not write it', async () => {
    const id = await insertEntry('user.role-changed', { kind: 'user', id: randomUUID() });
    await sql(`INSERT INTO log_waiting (entry_id) VALUES ($1)`, [id]);
    await settled();
    expect(await found()).toContain(`its entry ${id} was not written by the service`);
  });

  it('an inserted entry with a leaf of its own making is no leaf of the tree', async () => {
    const id = await insertEntry('user.role-changed', { kind: 'user', id: randomUUID() });
    await sql(`INSERT INTO log_leaf (index, entry_id, kind) VALUES (-1, $1, 'entry')`, [id]);
    expect(await found()).toContain(`an entry is not in the log: {"id":"${id}"`);
    await sql(`DELETE FROM log_leaf WHERE index = -1`);
    await sql(`DELETE FROM audit_entry WHERE id = $1`, [id]);
  });

  it('an entry that is changed while it waits is not the one that the service wrote', async () => {
    // The sequencer is kept away, as anybody can who may connect.
    const name = 'Somebody Else';
    const client = sql(`SELECT pg_advisory_lock(${SEQUENCER_LOCK}), pg_sleep(4)`);
    await until('the lock', 10, async () => {
      const rows = await sql(
        `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${SEQUENCER_LOCK} AND granted`,
      );
      return rows.length > 0;
    });
    await signedBy('default', 'changed while it waits');
    await sql(
      `UPDATE audit_entry SET actor_name = $1 WHERE id IN (SELECT entry_id FROM log_waiting) AND action = 'signing.accepted'`,
      [name],
    );
    const [entry] = await sql<{ id: string }>(`SELECT id FROM audit_entry WHERE actor_name = $1`, [name]);
    await client;
    await settled();
    expect(await found()).toContain(`its entry ${entry?.id} was not written by the service`);
  });

  it('an inserted checkpoint is not one of the log', async () => {
    await settled();
    const before = await found();
    const [newest] = await sql<{ note: string }>(`SELECT note FROM log_checkpoint ORDER BY size DESC LIMIT 1`);
    await sql(`INSERT INTO log_checkpoint (size, root, note) VALUES (1000000, $1, $2)`, [
      randomBytes(32),
      newest?.note.replace(/\n\d+\n/, '\n1000000\n'),
    ]);
    expect(await found()).toContain('the checkpoint is not signed by the key of the log');
    await sql(`DELETE FROM log_checkpoint WHERE size = 1000000`);
    expect(await found()).toBe(before);
  });

  it('another row of the key is no key of this log', async () => {
    await settled();
    const [row] = await sql<{ id: string; cka_id: Buffer; public_key: Buffer }>(
      `SELECT id, cka_id, public_key FROM log_key`,
    );
    const other = await createKey(service, apiKey, { name: 'no-log', type: 'ec-p256' });
    await sql(
      `UPDATE log_key SET cka_id = v.cka_id, public_key = v.public_key FROM signing_key_version v WHERE v.key_id = $1`,
      [other.id],
    );
    await until('health says so', 30, async () => (await logHealth()).includes('log.other-key'));
    await sql(`UPDATE log_key SET cka_id = $1, public_key = $2 WHERE id = $3`, [row?.cka_id, row?.public_key, row?.id]);
    await until('health is well again', 30, async () => !(await logHealth()).includes('log.other-key'));
  });

  describe('of which an older copy, or another one, is put into the database', () => {
    it('is not signed when it is rewritten and begins anew', async () => {
      await sql(
        `SELECT pg_advisory_xact_lock(${SEQUENCER_LOCK});
         UPDATE audit_entry SET actor_name = 'Somebody Else' WHERE id = (SELECT id FROM audit_entry ORDER BY id LIMIT 1);
         DELETE FROM audit_entry WHERE id = (SELECT id FROM audit_entry ORDER BY id OFFSET 3 LIMIT 1);
         TRUNCATE log_leaf, log_tile, log_checkpoint, log_waiting;
         UPDATE log_head SET size = 0;
         INSERT INTO log_waiting (entry_id) SELECT id FROM audit_entry`,
      );
      await until('the log is held', 45, async () => /log\.(forked|rolled-back)/.test(service.log()));
      await until('health says so', 30, async () => /log\.(forked|rolled-back)/.test(await logHealth()));
      const { status, body } = await service.call('GET', '/api/v1/audit/log/checkpoint', { key: apiKey });
      expect([status, body.code]).toEqual([404, 'log.empty']);
    });

    it('is signed again when an operator accepts it, and the log says that somebody did', async () => {
      const said = await runToEnd(['accept-log'], stage.settings);
      expect(said).toMatch(/log\.(forked|rolled-back): /);
      expect(await runToEnd(['accept-log', '--leaves', '1'], stage.settings).catch(String)).not.toContain('Accepted.');
      expect(await accepted(stage.settings)).toContain('Accepted.');
      await settled();
      await until('health is well', 30, async () => !/log\.(forked|rolled-back)/.test(await logHealth()));
      const { items } = await get('/api/v1/audit/entries?action=audit-log.accepted');
      expect(items[0]).toMatchObject({ actor: { id: 'operator' }, detail: { signed: { size: expect.any(Number) } } });
      // Who kept a checkpoint is told all the same.
      expect(await found()).toMatch(/older checkpoint/);
    });

    it('is not signed when checkpoints and leaves are rolled back', async () => {
      await settled();
      await signedBy('default', 'before the rollback');
      await settled();
      const [head] = await sql<{ size: string }>(`SELECT size FROM log_head`);
      const size = Number(head?.size) - 2;
      const tile = Math.floor(size / 256);
      await sql(
        `SELECT pg_advisory_xact_lock(${SEQUENCER_LOCK});
         DELETE FROM log_checkpoint WHERE size > ${size};
         DELETE FROM log_leaf WHERE index >= ${size};
         UPDATE log_head SET size = ${size};
         DELETE FROM log_tile WHERE index > ${tile};
         UPDATE log_tile SET hashes = substr(hashes, 1, 32 * ${size % 256}) WHERE level = 0 AND index = ${tile}`,
      );
      await until('health says so', 30, async () => (await logHealth()).includes('log.rolled-back'));
      await signedBy('default', 'after the rollback');
      await until('entries are numbered', 30, async () => {
        const [row] = await sql<{ n: string }>(`SELECT count(*) AS n FROM log_waiting`);
        return row?.n === '0';
      });
      const [last] = await sql<{ size: string | null }>(`SELECT max(size) AS size FROM log_checkpoint`);
      expect(Number(last?.size)).toBeLessThanOrEqual(size);
    });
  });
});
