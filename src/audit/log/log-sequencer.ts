import { Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataSource, type EntityManager } from 'typeorm';
import { columns } from '../../platform/database/columns.js';
import { ENTRY_COLUMNS, type EntryRow, leafData } from './log-leaf.js';
import { LogKeys } from './log-keys.js';
import { appendLeaves, rootOf } from './log-tiles.js';
import type { LeafKind } from '../../verifier/exported-log.js';
import { EMPTY_ROOT, leafHash } from '../../verifier/merkle-hash.js';
import { SEQUENCER_LOCK } from './sequencer-lock.js';

/** Entries of one transaction: its locks are held for some ten milliseconds. */
const MOST = 1000;
/** Entries that are hashed in one turn of the event loop: about a millisecond. */
const PER_TURN = 50;

interface Leaf {
  readonly entryId: string;
  readonly kind: LeafKind;
  readonly hash: Buffer;
}

/** Numbers committed audit entries into the Merkle tree (RFC 6962), and signs what the tree has become. */
@Injectable()
export class LogSequencer {
  constructor(
    private readonly db: DataSource,
    private readonly keys: LogKeys,
  ) {}

  /** Numbers what waits, then signs a checkpoint if there is something new. Does nothing while another process is at it. */
  async run(stopping: () => boolean): Promise<void> {
    while ((await this.db.transaction((tx) => this.number(tx))) === MOST && !stopping());
    await this.db.transaction((tx) => this.checkpoint(tx));
  }

  private async number(tx: EntityManager): Promise<number> {
    if (!(await held(tx))) return 0;
    const rows: EntryRow[] = await tx.query(
      `WITH taken AS (
         DELETE FROM log_waiting WHERE entry_id = ANY(ARRAY(SELECT entry_id FROM log_waiting ORDER BY entry_id LIMIT ${MOST})) RETURNING entry_id)
       SELECT ${ENTRY_COLUMNS}, taken.entry_id AS id, e.id IS NOT NULL AS there
       FROM taken LEFT JOIN audit_entry e ON e.id = taken.entry_id ORDER BY taken.entry_id`,
    );
    if (rows.length === 0) return 0;
    const leaves = await leavesOf(rows);
    const size = await sizeOf(tx);
    await appendLeaves(
      tx,
      size,
      leaves.map(({ hash }) => hash),
    );
    const { from, values } = columns(
      leaves.map(({ entryId, kind }, i) => ({ index: String(size + i), entry_id: entryId, kind })),
      { index: 'text', entry_id: 'uuid', kind: 'text' },
    );
    await tx.query(
      `INSERT INTO log_leaf (index, entry_id, kind) SELECT index::bigint, entry_id, kind FROM ${from}`,
      values,
    );
    await tx.query(`UPDATE log_head SET size = $1`, [size + leaves.length]);
    return rows.length;
  }

  private async checkpoint(tx: EntityManager): Promise<void> {
    if (!(await held(tx))) return;
    const size = await sizeOf(tx);
    const last = await lastCheckpoint(tx);
    if (size === last.size) return;
    await assertGrown(tx, size, last);
    const key = await this.keys.ensured();
    const root = await rootOf(tx, size);
    const note = await this.keys.signed({ origin: key.origin, size, root }, key);
    await tx.query(`INSERT INTO log_checkpoint (size, root, note) VALUES ($1, $2, $3)`, [size, root, note]);
  }
}

async function lastCheckpoint(tx: EntityManager): Promise<{ size: number; root: Buffer }> {
  const [last]: { size: string; root: Buffer }[] = await tx.query(
    `SELECT size, root FROM log_checkpoint ORDER BY size DESC LIMIT 1`,
  );
  return last === undefined ? { size: 0, root: EMPTY_ROOT } : { size: Number(last.size), root: last.root };
}

/** A checkpoint over a log that is not the continuation of the last one would vouch for a rolled-back or rewritten log: none is signed. */
async function assertGrown(tx: EntityManager, size: number, last: { size: number; root: Buffer }): Promise<void> {
  if (size < last.size)
    throw new Error(`the log has ${size} leaves, but a checkpoint over ${last.size} was signed: it was rolled back`);
  if (!(await rootOf(tx, last.size)).equals(last.root))
    throw new Error(`the first ${last.size} leaves are not those of the last checkpoint: the log was rewritten`);
}

async function held(tx: EntityManager): Promise<boolean> {
  const [row]: { held: boolean }[] = await tx.query(`SELECT pg_try_advisory_xact_lock(${SEQUENCER_LOCK}) AS held`);
  return row?.held === true;
}

async function sizeOf(tx: EntityManager): Promise<number> {
  const [head]: { size: string }[] = await tx.query(`SELECT size FROM log_head`);
  if (head === undefined) throw new Error('the log has no head');
  return Number(head.size);
}

async function leavesOf(rows: readonly (EntryRow & { there?: boolean })[]): Promise<Leaf[]> {
  const leaves: Leaf[] = [];
  for (const [at, row] of rows.entries()) {
    if (at % PER_TURN === PER_TURN - 1) await nextTurn();
    const kinds: LeafKind[] = row.there === false ? ['missing'] : row.record === null ? ['entry'] : ['entry', 'record'];
    for (const kind of kinds) {
      const data = leafData(kind, row.id, row) ?? '';
      leaves.push({ entryId: row.id, kind, hash: leafHash(data) });
    }
  }
  return leaves;
}
