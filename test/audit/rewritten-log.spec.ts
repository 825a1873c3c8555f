import { randomBytes, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ENTRY_COLUMNS, type EntryRow } from '../../src/audit/entries/entry-row.js';
import { logLeafOf } from '../../src/audit/log/log-leaf.js';
import { SEQUENCER_LOCK } from '../../src/audit/log/log-tiles.js';
import { leafHash } from '../../src/verifier/merkle-tree.js';
import { accepted } from '../support/accepted-log.js';
import { runToEnd } from '../support/service.js';
import { createKey, until } from '../support/signing.js';
import { openWriter, type Writer } from './writer.js';

/**
 * The attacker owns the database and can disable every trigger. Each test forges the log. The service must refuse the forgery, or the auditor who kept the
 * log's key and a checkpoint must detect it.
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

/** Returns the health component `log` as JSON. */
const logHealth = async () => JSON.stringify((await get('/actuator/health')).components.log);

const doctor = () => runToEnd(['doctor', '--all'], stage.settings).catch(({ stdout }: { stdout: string }) => stdout);

/** Appends a leaf to the tree, which the database owner can do. @returns the number of leaves before the new leaf, and the ID of its entry */
async function appendLeaf() {
  await settled();
  const tileHasRoom = async () =>
    Number((await sql<{ size: string }>(`SELECT size FROM log_head`))[0]?.size) % 256 < 250;
  while (!(await tileHasRoom())) {
    await signedBy('default', randomUUID());
    await settled();
  }
  const id = await insertEntry('user.changed', { kind: 'user', id: randomUUID() });
  const [entry] = await sql<EntryRow>(`SELECT ${ENTRY_COLUMNS} FROM audit_entry e WHERE e.id = $1`, [id]);
  const hash = leafHash(logLeafOf(entry as EntryRow)).toString('hex');
  const [before] = await sql<{ size: string }>(`SELECT size FROM log_head`);
  const size = Number(before?.size);
  await sql(
    `BEGIN; SELECT pg_advisory_xact_lock(${SEQUENCER_LOCK});
     INSERT INTO log_leaf (index, entry_id, kind) VALUES (${size}, '${id}', 'entry');
     INSERT INTO log_tile (level, index, hashes) VALUES (0, ${Math.floor(size / 256)}, '\\x${hash}')
       ON CONFLICT (level, index) DO UPDATE SET hashes = log_tile.hashes || excluded.hashes;
     UPDATE log_head SET size = ${size + 1}; COMMIT`,
  );
  return { id, size, isNewTile: size % 256 === 0 };
}

it('the verifier finds nothing while nothing was changed', async () => {
  expect(await verified()).toMatchObject({ code: 0, valid: true, findings: [] });
  expect(await health()).not.toMatch(/log\.[a-z-]+:/);
});

describe('the log', () => {
  it('reports an inserted entry as one without a leaf in every check, and covers it by no checkpoint', async () => {
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
    expect(service.log()).toContain(`entry ${id} is neither in the audit log nor queued for it`);
    await sql(`DELETE FROM audit_entry WHERE id = $1`, [id]);
    await until('health is well again', 60, async () => !(await health()).includes('log.unlogged'));
  });

  it('turns an inserted entry with a waiting row into a leaf marked as not written by the service', async () => {
    const id = await insertWaiting('user.role-changed', { kind: 'user', id: randomUUID() });
    await settled();
    expect(await found()).toContain(`its entry ${id} was not written by the service`);
  });

  it('does not include an inserted entry with a forged leaf in the tree', async () => {
    const id = await insertEntry('user.role-changed', { kind: 'user', id: randomUUID() });
    await sql(`INSERT INTO log_leaf (index, entry_id, kind) VALUES (-1, $1, 'entry')`, [id]);
    expect(await found()).toContain(`an entry is not in the log: {"id":"${id}"`);
    await sql(`DELETE FROM log_leaf WHERE index = -1`);
    await sql(`DELETE FROM audit_entry WHERE id = $1`, [id]);
  });

  it('a leaf that was appended by SQL is not signed', async () => {
    const { size, id, isNewTile } = await appendLeaf();
    await until('health says so', 60, async () => (await logHealth()).includes('log.foreign-leaf'));
    expect(await logHealth()).toContain('DOWN');
    const [signed] = await sql<{ size: string }>(`SELECT max(size) AS size FROM log_checkpoint`);
    expect(Number(signed?.size)).toBeLessThanOrEqual(size);
    // Removes the leaf, after which checkpoints are signed again.
    const tile = `level = 0 AND index = ${Math.floor(size / 256)}`;
    await sql(
      `BEGIN; SELECT pg_advisory_xact_lock(${SEQUENCER_LOCK});
       DELETE FROM log_leaf WHERE index >= ${size}; DELETE FROM log_tile WHERE ${tile} AND ${isNewTile};
       UPDATE log_tile SET hashes = substring(hashes FROM 1 FOR ${(size % 256) * 32}) WHERE ${tile};
       UPDATE log_head SET size = ${size}; COMMIT`,
    );
    await sql(`DELETE FROM audit_entry WHERE id = $1`, [id]);
    await settled();
    await until('health is well again', 60, async () => !(await health()).includes('log.foreign-leaf'));
  });

  it('an appended leaf is accepted only by the digest of the list, as a leaf that the service did not write', async () => {
    const { id, size } = await appendLeaf();
    const said = await runToEnd(['accept-log'], stage.settings);
    expect(said).toContain(`Leaf ${size} was not appended by the service: user.changed of user`);
    const [, leaves = '', digest = ''] = /--leaves (\d+) --digest ([0-9a-f]{64})/.exec(said) ?? [];
    for (const wrong of [[], ['--digest', digest.replaceAll('a', 'b')]])
      await expect(runToEnd(['accept-log', '--leaves', leaves, ...wrong], stage.settings)).rejects.toMatchObject({
        code: 1,
      });
    expect(await logHealth()).toContain('log.foreign-leaf');
    expect(await accepted(stage.settings)).toContain('Accepted.');
    await settled();
    await until('health is well again', 60, async () => !(await health()).includes('log.foreign-leaf'));
    expect(await found()).toContain(`its entry ${id} was not written by the service`);
    const { items } = await get('/api/v1/audit/entries?action=audit-log.accepted');
    expect(items[0]).toMatchObject({ detail: { foreign: 1, damaged: [] } });
    expect(await doctor()).toContain(`leaf ${size}: the entry ${id} was not written by the service`);
  });

  it('an acceptance covers only the damage that it names', async () => {
    await signedBy('default', randomUUID());
    await settled();
    const entries = await sql<{ id: string; name: string; leaf: string }>(
      `SELECT e.id, e.actor_name AS name, l.index AS leaf FROM audit_entry e JOIN log_leaf l ON l.entry_id = e.id AND l.kind = 'entry'
       WHERE e.action LIKE 'signing.%' ORDER BY l.index DESC LIMIT 2`,
    );
    const [later, earlier] = entries;
    const rename = (id: string | undefined, name: string) =>
      sql(`UPDATE audit_entry SET actor_name = $2 WHERE id = $1`, [id, name]);
    await rename(later?.id, 'Changed Later');
    expect(await accepted(stage.settings)).toContain('Accepted.');
    await settled();
    // The command runs in a new process that has not read the log before.
    await rename(earlier?.id, 'Changed Later');
    const said = await runToEnd(['accept-log'], stage.settings);
    for (const { id, name } of entries) await rename(id, name);
    expect(said).toContain(`The entry of leaf ${earlier?.leaf} was changed`);
    expect(said).not.toContain(`leaf ${later?.leaf} was`);
  });

  it('a tile whose root was forged before its leaves are signed is not signed', async () => {
    await settled();
    const sizeOf = async () => Number((await sql<{ size: string }>(`SELECT size FROM log_head`))[0]?.size);
    const before = await sizeOf();
    const owner = new Client(stage.databaseUrl);
    // Releases the sequencer's lock even if the test fails, because later tests need the lock.
    onTestFinished(() => owner.end());
    await owner.connect();
    // The entries are sequenced in one batch, and the checkpoint over them waits for the lock on the table.
    await owner.query(`SELECT pg_advisory_lock(${SEQUENCER_LOCK})`);
    const items = Array.from({ length: 300 }, () => ({ digest: randomBytes(32).toString('base64') }));
    await until('the signatures', 60, async () => {
      const { status } = await service.call('POST', '/api/v1/sign/batch', { key: apiKey, body: { items } });
      return status === 200;
    });
    await owner.query('BEGIN; LOCK TABLE log_checkpoint IN ACCESS EXCLUSIVE MODE');
    await owner.query(`SELECT pg_advisory_unlock(${SEQUENCER_LOCK})`);
    await until('the leaves', 30, async () => (await sizeOf()) > before + 512);
    const tile = Math.ceil(before / 256);
    const forge = (hash: Buffer) =>
      `UPDATE log_tile t SET hashes = overlay(t.hashes PLACING '\\x${hash.toString('hex')}' FROM ${(tile % 256) * 32 + 1} FOR 32)
       FROM log_tile old WHERE t.level = 1 AND t.index = ${Math.floor(tile / 256)} AND old.level = 1 AND old.index = t.index
       RETURNING substring(old.hashes FROM ${(tile % 256) * 32 + 1} FOR 32) AS hash`;
    const { rows } = await owner.query<{ hash: Buffer }>(forge(randomBytes(32)));
    await owner.query('COMMIT');
    await until('health says so', 60, async () => (await health()).includes('log.forked'));
    const [signed] = await sql<{ size: string }>(`SELECT max(size) AS size FROM log_checkpoint`);
    expect(Number(signed?.size)).toBeLessThanOrEqual(before);
    await owner.query(forge(rows[0]?.hash ?? Buffer.alloc(32)));
    await settled();
    await until('health is well again', 60, async () => !(await health()).includes('log.forked'));
  });

  it('does not accept an entry changed while it waits as written by the service', async () => {
    // Blocks the sequencer by acquiring its lock, which anyone who can connect to the database can do.
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

  it('rejects an inserted checkpoint', async () => {
    await settled();
    const before = await found();
    const [newest] = await sql<{ note: string }>(`SELECT note FROM log_checkpoint ORDER BY size DESC LIMIT 1`);
    await sql(`INSERT INTO log_checkpoint (size, root, note) VALUES (1000000, $1, $2)`, [
      randomBytes(32),
      newest?.note.replace(/\n\d+\n/, '\n1000000\n'),
    ]);
    expect(await found()).toContain('the checkpoint is not signed with the log key');
    await sql(`DELETE FROM log_checkpoint WHERE size = 1000000`);
    expect(await found()).toBe(before);
  });

  it('does not use a replaced key row as its key', async () => {
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

  describe('restored from an older copy, or replaced by another', () => {
    it('is not signed if it is rewritten from the start', async () => {
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

    it('is signed again once an operator accepts it, with an entry about the acceptance', async () => {
      const said = await runToEnd(['accept-log'], stage.settings);
      expect(said).toMatch(/log\.(forked|rolled-back): /);
      expect(said).toContain('If any kind of backup was restored, run: sealwright-admin restore status');
      const [leaves = ''] = /(?<=--leaves )\d+/.exec(said) ?? [];
      // The log of a restored backup looks the same as a log that was rolled back. Accepting such a log without restore mode would reinstate everything that
      // was revoked since the backup.
      await expect(runToEnd(['accept-log', '--leaves', leaves], stage.settings)).rejects.toMatchObject({ code: 1 });
      expect(
        await runToEnd(['accept-log', '--leaves', '1', '--damaged-in-place'], stage.settings).catch(String),
      ).not.toContain('Accepted.');
      expect(await accepted(stage.settings)).toContain('Accepted.');
      await settled();
      await until('health is well', 30, async () => !/log\.(forked|rolled-back)/.test(await health()));
      const { items } = await get('/api/v1/audit/entries?action=audit-log.accepted');
      expect(items[0]).toMatchObject({ actor: { id: 'operator' }, detail: { signed: { size: expect.any(Number) } } });
      // An auditor who kept a checkpoint still detects the rollback.
      expect(await found()).toMatch(/older checkpoint/);
    });

    it('is not signed if checkpoints and leaves are rolled back', async () => {
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
