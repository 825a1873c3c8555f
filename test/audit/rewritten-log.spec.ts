import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SEQUENCER_LOCK } from '../../src/audit/log/log-tiles.js';
import { accepted } from '../support/accepted-log.js';
import { runToEnd } from '../support/service.js';
import { createKey, until } from '../support/signing.js';
import { openWriter, type Writer } from './writer.js';

/**
 * An attacker has the database: as its owner, with every trigger off. Each test is one way to forge the log;
 * it must be refused, or the auditor who kept the log's key and a checkpoint must detect it.
 */
let writer: Writer;
let stage: Writer['stage'];
let service: Writer['service'];
let apiKey: Writer['apiKey'];
let sql: Writer['sql'];
let get: Writer['get'];
let settled: Writer['settled'];
let verified: Writer['verified'];
let found: Writer['found'];
let health: Writer['health'];
let signedBy: Writer['signedBy'];
let insertEntry: Writer['insertEntry'];
let insertWaiting: Writer['insertWaiting'];

beforeAll(async () => {
  writer = await openWriter();
  ({ stage, service, apiKey, sql, get, settled, verified, found, health, signedBy, insertEntry, insertWaiting } =
    writer);
});
afterAll(() => writer.close());

it('nothing is found while nothing was done', async () => {
  expect(await verified()).toMatchObject({ code: 0, valid: true, findings: [] });
  expect(await health()).not.toMatch(/log\.[a-z-]+:/);
});

describe('the log', () => {
  it('an inserted entry is shown as one without a leaf, found by every check, and no checkpoint is over it', async () => {
    await settled();
    const id = await insertEntry('approval.approved', { kind: 'approval', id: randomUUID() });
    const { items } = await get('/api/v1/audit/entries?action=approval.*&limit=200');
    const shown = items.find((item: { id: string }) => item.id === id);
    expect(shown).toMatchObject({ leaf: null, waitsSince: null });
    const others = items.filter((item: { id: string }) => item.id !== id);
    expect(
      others.every(
        ({ leaf, waitsSince }: { leaf: unknown; waitsSince: unknown }) => (leaf === null) !== (waitsSince === null),
      ),
    ).toBe(true);
    expect(await found()).toContain(`an entry is not in the log: {"id":"${id}"`);
    await until('health says so', 60, async () => (await health()).includes('log.unlogged'));
    expect(service.log()).toContain(`the entry ${id} is not in the audit log`);
    await sql(`DELETE FROM audit_entry WHERE id = $1`, [id]);
    await until('health is well again', 60, async () => !(await health()).includes('log.unlogged'));
  });

  it('an inserted entry with a row that it waits becomes a leaf that says who did not write it', async () => {
    const id = await insertWaiting('user.role-changed', { kind: 'user', id: randomUUID() });
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
    await until('health says so', 30, async () => (await health()).includes('log.other-key'));
    await sql(`UPDATE log_key SET cka_id = $1, public_key = $2 WHERE id = $3`, [row?.cka_id, row?.public_key, row?.id]);
    await until('health is well again', 30, async () => !(await health()).includes('log.other-key'));
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
      await until('health says so', 30, async () => /log\.(forked|rolled-back)/.test(await health()));
      const { status, body } = await service.call('GET', '/api/v1/audit/log/checkpoint', { key: apiKey });
      expect([status, body.code]).toEqual([404, 'log.empty']);
    });

    it('is signed again when an operator accepts it, and the log has an entry about that', async () => {
      const said = await runToEnd(['accept-log'], stage.settings);
      expect(said).toMatch(/log\.(forked|rolled-back): /);
      expect(said).toContain('If a backup was restored, by whatever means, use: sealwright-admin restore status');
      const [leaves = ''] = /(?<=--leaves )\d+/.exec(said) ?? [];
      // A copy looks the same, and accepted here it would be served with everything that was revoked since.
      await expect(runToEnd(['accept-log', '--leaves', leaves], stage.settings)).rejects.toMatchObject({ code: 1 });
      expect(
        await runToEnd(['accept-log', '--leaves', '1', '--damaged-in-place'], stage.settings).catch(String),
      ).not.toContain('Accepted.');
      expect(await accepted(stage.settings)).toContain('Accepted.');
      await settled();
      await until('health is well', 30, async () => !/log\.(forked|rolled-back)/.test(await health()));
      const { items } = await get('/api/v1/audit/entries?action=audit-log.accepted');
      expect(items[0]).toMatchObject({ actor: { id: 'operator' }, detail: { signed: { size: expect.any(Number) } } });
      // Whoever kept a checkpoint detects it nevertheless.
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
      await until('health says so', 30, async () => (await health()).includes('log.rolled-back'));
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
