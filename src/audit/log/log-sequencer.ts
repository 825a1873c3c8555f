import { Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataSource, type EntityManager } from 'typeorm';
import { columns } from '../../platform/database/statements.js';
import { EventBus } from '../../platform/events/events.js';
import { ENTRY_COLUMNS, type EntryRow } from '../entries/entry-row.js';
import { leafData } from './log-leaf.js';
import { LogAnchors, checkpointSizeOf } from './log-anchors.js';
import { LogKeys } from './log-keys.js';
import { appendLeaves, readTree, rootOf, SEQUENCER_LOCK } from './log-tiles.js';
import { type IsOwn, OwnLeaves } from './own-leaves.js';
import type { LeafKind } from '../../verifier/log-verifier.js';
import { leafHash } from '../../verifier/merkle-tree.js';
import { openNote } from '../../verifier/signed-note.js';

/** Number of entries per transaction. A transaction holds its locks for about ten milliseconds. */
const BATCH_SIZE = 1000;
/** Number of entries to hash before yielding to the event loop. Hashing this many entries takes about a millisecond. */
const LEAVES_PER_SLICE = 50;

type WaitingRow = EntryRow & {
  readonly there: boolean;
  /** Whether the entry already has a leaf, because the entry was queued again directly in the database. */
  readonly repeated: boolean;
};

interface Leaf {
  readonly entryId: string;
  readonly kind: LeafKind;
  readonly hash: Buffer;
}

/** Conditions under which the sequencer has work: an entry is waiting, or the size of the log differs from the size of its newest checkpoint. */
export const WAITING_FOR_LOG = [
  { table: 'log_waiting', where: 'true', order: 'entry_id' },
  `SELECT FROM log_head h WHERE h.size <> coalesce((SELECT size FROM log_checkpoint ORDER BY size DESC LIMIT 1), 0)`,
];

/** Appends committed audit entries to the Merkle tree (RFC 6962) and signs checkpoints. */
@Injectable()
export class LogSequencer {
  /** Whether the token has an anchor for this log. */
  private isAnchored = false;
  /** Size of the last checkpoint known to be signed. */
  private signedSize = 0;
  private readonly own = new OwnLeaves();
  /** The newest note whose signature was verified. */
  private known: string | undefined;

  constructor(
    private readonly db: DataSource,
    private readonly keys: LogKeys,
    private readonly anchors: LogAnchors,
    private readonly events: EventBus,
  ) {}

  /** Appends waiting entries, then signs a checkpoint if the tree has grown. Does nothing while another process holds the sequencer's lock. */
  async run(stopping: () => boolean): Promise<void> {
    await this.anchor();
    while ((await this.db.transaction((tx) => this.number(tx))) === BATCH_SIZE && !stopping());
    await this.db.transaction((tx) => this.checkpoint(tx));
  }

  /** Anchors the log of an earlier version before this version appends to it. */
  private async anchor(): Promise<void> {
    if (this.isAnchored || (await this.keys.current()) === undefined) return;
    try {
      const newest = await this.anchors.newest();
      this.isAnchored = newest !== undefined;
      this.signedSize = newest?.size ?? 0;
      if (!this.isAnchored) await this.db.transaction((tx) => this.checkpoint(tx));
    } catch {
      // Entries are still appended. Signing the next checkpoint fails for the same reason and reports the error.
    }
  }

  private async number(tx: EntityManager): Promise<number> {
    if (!(await tryLock(tx))) return 0;
    const rows: WaitingRow[] = await tx.query(
      `WITH taken AS (
         DELETE FROM log_waiting WHERE entry_id = ANY(ARRAY(SELECT entry_id FROM log_waiting ORDER BY entry_id LIMIT ${BATCH_SIZE})) RETURNING entry_id)
       SELECT ${ENTRY_COLUMNS}, taken.entry_id AS id, e.id IS NOT NULL AS there,
         EXISTS (SELECT FROM (SELECT index FROM log_leaf WHERE entry_id = taken.entry_id OFFSET 0) l
           WHERE l.index >= 0 AND l.index < (SELECT size FROM log_head)) AS repeated
       FROM taken LEFT JOIN audit_entry e ON e.id = taken.entry_id ORDER BY taken.entry_id`,
    );
    if (rows.length === 0) return 0;
    for (const { id, repeated } of rows)
      if (repeated) this.events.emit('row.not-sealed', { table: 'log_waiting', key: id });
    const leaves = await leavesOf(
      rows.filter(({ repeated }) => !repeated),
      this.anchors.ownEntries(),
    );
    if (leaves.length === 0) return rows.length;
    const size = await checkpointSizeOf(tx);
    const hashes = leaves.map(({ hash }) => hash);
    await appendLeaves(tx, size, hashes);
    this.own.remember(size, hashes);
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
    if (!(await tryLock(tx))) return;
    const size = await checkpointSizeOf(tx);
    const last = await lastCheckpoint(tx);
    // A log shorter than the signed log was rolled back, even if nothing new was written, so the token must check the log.
    const isCurrent = this.isAnchored && size === last?.size && size >= this.signedSize;
    if (size === 0 || (isCurrent && (await this.isSigned(last.note)))) return;
    const key = await this.keys.ensured();
    const root = await this.verifiedRoot(tx, size);
    const note = await this.anchors.sign(tx, key, { size, root, lastNote: last?.note });
    // The row exists if a process stopped after signing, or if the row was inserted directly with SQL.
    await tx.query(
      `INSERT INTO log_checkpoint (size, root, note) VALUES ($1, $2, $3)
       ON CONFLICT (size) DO UPDATE SET root = excluded.root, note = excluded.note, at = now()`,
      [size, root, note],
    );
    this.isAnchored = true;
    this.signedSize = size;
    this.own.forget(size);
  }

  /**
   * Returns the root of the tree that the HSM signed last, extended by leaves that the service wrote. The higher tile levels above these leaves are not
   * read, because only the leaves are verified. A log without an anchor was created by an earlier version or accepted by an operator.
   *
   * @throws Problem `log.foreign-leaf`
   */
  private async verifiedRoot(tx: EntityManager, size: number): Promise<Buffer> {
    const signed = (await this.anchors.newest())?.size ?? 0;
    if (signed === 0 || signed >= size) return rootOf(tx, size);
    const tree = await readTree(tx, signed);
    await this.own.addTo(tree, tx, size, this.anchors.ownEntries());
    return tree.root();
  }

  private async isSigned(note: string): Promise<boolean> {
    if (note === this.known) return true;
    const key = await this.keys.current();
    if (key === undefined || openNote(note, key.publicKey) === undefined) return false;
    this.known = note;
    return true;
  }
}

async function lastCheckpoint(tx: EntityManager): Promise<{ size: number; note: string } | undefined> {
  const [last]: { size: string; note: string }[] = await tx.query(
    `SELECT size, note FROM log_checkpoint ORDER BY size DESC LIMIT 1`,
  );
  return last && { size: Number(last.size), note: last.note };
}

async function tryLock(tx: EntityManager): Promise<boolean> {
  const [row]: { mine: boolean }[] = await tx.query(`SELECT pg_try_advisory_xact_lock(${SEQUENCER_LOCK}) AS mine`);
  return row?.mine === true;
}

/** Returns the leaves of waiting entries. An entry that the service did not write becomes a `foreign` leaf. */
async function leavesOf(rows: readonly WaitingRow[], isOwn: IsOwn): Promise<Leaf[]> {
  const leaves: Leaf[] = [];
  for (const [at, row] of rows.entries()) {
    if (at % LEAVES_PER_SLICE === LEAVES_PER_SLICE - 1) await nextTurn();
    for (const kind of await kindsOf(row, isOwn)) {
      const data = leafData(kind, row.id, row) ?? '';
      leaves.push({ entryId: row.id, kind, hash: leafHash(data) });
    }
  }
  return leaves;
}

async function kindsOf(row: WaitingRow, isOwn: IsOwn): Promise<LeafKind[]> {
  if (!row.there) return ['missing'];
  if (!(await isOwn(row))) return ['foreign'];
  return row.record === null ? ['entry'] : ['entry', 'record'];
}
