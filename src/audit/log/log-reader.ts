import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/errors/problem.js';
import { IS_UNLOGGED } from './log-gaps.js';
import { ENTRY_COLUMNS, type EntryRow } from '../entries/entry-row.js';
import { leafData } from './log-leaf.js';
import type { LogCheckpoint } from './log.entity.js';
import { LogKeys, type MadeLogKey } from './log-keys.js';
import { rangeHashes, rootOf } from './log-tiles.js';
import type { LeafKind } from '../../verifier/log-verifier.js';
import { consistencyPath, inclusionPath } from '../../verifier/merkle-tree.js';

export interface ProvenLeaf {
  readonly entryId: string;
  readonly kind: LeafKind;
  readonly index: number;
  /** The data of the leaf; undefined if the entry was removed. */
  readonly data: string | undefined;
  /** Hash of the leaf when it was appended. */
  readonly hash: Buffer;
  /** Merkle audit path from the leaf to the root (RFC 6962 section 2.1.1). */
  readonly path: Buffer[];
}

export interface InclusionProof extends ProvenLeaf {
  /** Number of leaves in the tree. */
  readonly size: number;
  /** Signed note over a tree of this size, if one exists. */
  readonly note: string | undefined;
}

export interface TargetProofs {
  readonly size: number;
  readonly note: string;
  readonly leaves: ProvenLeaf[];
}

export interface ConsistencyProof {
  readonly first: number;
  readonly second: number;
  readonly path: Buffer[];
}

/** Maximum number of entries about a target. The limit exceeds the number of attempts and votes that a request can have. */
const MAX_ENTRIES_OF_TARGET = 500;

interface LeafRow {
  readonly index: string;
  readonly kind: LeafKind;
}

/** Reads checkpoints and proofs of the log. */
@Injectable()
export class LogReader {
  constructor(
    private readonly db: DataSource,
    private readonly keys: LogKeys,
    private readonly cursors: Cursors,
  ) {}

  /** Returns the log key. Throws Problem `log.empty` until the first checkpoint, about a second after the first entry. */
  async key(): Promise<MadeLogKey> {
    const key = await this.keys.current();
    if (key === undefined) throw empty();
    return key;
  }

  /** Returns the newest signed checkpoint, or the checkpoint over a tree of this size. */
  async checkpoint(size?: number): Promise<LogCheckpoint> {
    const [row]: LogCheckpoint[] = await this.db.query(
      `SELECT size, root, note, at FROM log_checkpoint WHERE $1::bigint IS NULL OR size = $1 ORDER BY size DESC LIMIT 1`,
      [size ?? null],
    );
    if (row !== undefined) return row;
    throw size === undefined
      ? empty()
      : new Problem(
          'missing',
          'log.no-checkpoint',
          `No signed checkpoint covers exactly ${size} leaves. List the checkpoints to find their sizes.`,
        );
  }

  /** Returns checkpoints, newest first. */
  async checkpoints({ limit = DEFAULT_LIMIT, cursor }: PageQuery): Promise<Page<LogCheckpoint>> {
    const [before] = this.cursors.read('log checkpoints', cursor) ?? [];
    const rows: LogCheckpoint[] = await this.db.query(
      `SELECT size, root, note, at FROM log_checkpoint WHERE $1::bigint IS NULL OR size < $1 ORDER BY size DESC LIMIT $2`,
      [before ?? null, limit + 1],
    );
    return this.cursors.page('log checkpoints', rows, limit, ({ size }) => [size]);
  }

  /**
   * Returns the inclusion proof of an entry in the tree of the newest checkpoint, or of `size`. Throws Problem `log.not-yet` until the tree includes
   * the entry.
   */
  async inclusion(entryId: string, kind: LeafKind = 'entry', size?: number): Promise<InclusionProof> {
    const checkpoint = size === undefined ? await this.checkpoint() : undefined;
    const wanted = size ?? Number(checkpoint?.size);
    const [leaf]: LeafRow[] = await this.db.query(
      `SELECT index, kind FROM log_leaf WHERE entry_id = $1 AND (kind = $2 OR kind IN ('missing', 'foreign')) LIMIT 1`,
      [entryId, kind],
    );
    const index = Number(leaf?.index ?? wanted);
    if (leaf === undefined || index >= wanted) throw await this.absence(entryId, wanted);
    await this.assertSize(wanted);
    const [hash, ...path] = await rangeHashes(this.db.manager, [
      { from: index, to: index + 1 },
      ...inclusionPath(index, wanted),
    ]);
    const [row]: EntryRow[] = await this.db.query(`SELECT ${ENTRY_COLUMNS} FROM audit_entry e WHERE e.id = $1`, [
      entryId,
    ]);
    const data = leafData(leaf.kind, entryId, row);
    return { entryId, kind: leaf.kind, index, size: wanted, data, hash: hash as Buffer, path, note: checkpoint?.note };
  }

  /**
   * Returns inclusion proofs of all entries about these targets, and of further entries by ID, oldest first and all in the tree of one signed checkpoint.
   * Throws Problem `log.not-yet` until that tree includes all entries.
   */
  async inclusionOf(targetIds: readonly string[], entryIds: readonly string[] = []): Promise<TargetProofs> {
    const { size: text, note } = await this.checkpoint();
    const size = Number(text);
    const rows: (EntryRow & { index: string | null; kind: LeafKind })[] = await this.db.query(
      `SELECT ${ENTRY_COLUMNS}, l.index, l.kind FROM audit_entry e LEFT JOIN log_leaf l ON l.entry_id = e.id
       WHERE e.target_id = ANY($1) OR e.id = ANY($2::uuid[]) ORDER BY l.index LIMIT ${MAX_ENTRIES_OF_TARGET}`,
      [targetIds, entryIds],
    );
    const late = rows.find(({ index }) => index === null || Number(index) >= size);
    if (late !== undefined) throw await this.notYet(late.id, size);
    const ranges = rows.map(({ index }) => [
      { from: Number(index), to: Number(index) + 1 },
      ...inclusionPath(Number(index), size),
    ]);
    const hashes = await rangeHashes(this.db.manager, ranges.flat());
    const leaves = rows.map((row, i): ProvenLeaf => {
      const [hash, ...path] = hashes.splice(0, ranges[i]?.length);
      const data = leafData(row.kind, row.id, row);
      return { entryId: row.id, kind: row.kind, index: Number(row.index), data, hash: hash as Buffer, path };
    });
    return { size, note, leaves };
  }

  /** Returns the consistency proof that the log of `first` leaves is a prefix of the log of `second` leaves. */
  async consistency(first: number, second?: number): Promise<ConsistencyProof> {
    const wanted = second ?? Number((await this.checkpoint()).size);
    if (first > wanted) throw malformed('/first', `must not be greater than "second", which is ${wanted}`);
    await this.assertSize(wanted);
    return { first, second: wanted, path: await rangeHashes(this.db.manager, consistencyPath(first, wanted)) };
  }

  root(size: number): Promise<Buffer> {
    return rootOf(this.db.manager, size);
  }

  /**
   * Returns the Problem for an entry that is not in the log yet. If the entry is not waiting either, the service did not write it, and nothing about its
   * target can be proved.
   */
  private async notYet(entryId: string, size: number): Promise<Problem> {
    const [unlogged]: unknown[] = await this.db.query(
      `SELECT 1 FROM audit_entry e WHERE e.id = $1 AND ${IS_UNLOGGED}`,
      [entryId],
    );
    if (unlogged === undefined) return notYet(size);
    const detail = `The audit entry ${entryId} is neither in the log nor queued for it, so it was inserted outside the service. Run "sealwright log verify".`;
    return new Problem('conflict', 'log.unlogged', detail);
  }

  private async assertSize(size: number): Promise<void> {
    const [head]: { size: string }[] = await this.db.query(`SELECT size FROM log_head`);
    const there = Number(head?.size ?? 0);
    if (size > there) throw malformed('/size', `must not be greater than the number of leaves, which is ${there}`);
  }

  private async absence(entryId: string, size: number): Promise<Problem> {
    const [there]: unknown[] = await this.db.query(`SELECT 1 FROM audit_entry WHERE id = $1`, [entryId]);
    return there === undefined
      ? new Problem('missing', 'audit-entry.unknown', `No audit entry has the ID "${entryId}".`)
      : new Problem(
          'conflict',
          'log.not-yet',
          `The audit entry is not yet among the first ${size} leaves of the log. Retry after 1 second.`,
          {
            retryAfter: 1,
          },
        );
  }
}

function notYet(size: number): Problem {
  const detail = `Some audit entries are not yet among the first ${size} leaves of the log. Retry after 1 second.`;
  return new Problem('conflict', 'log.not-yet', detail, { retryAfter: 1 });
}

function empty(): Problem {
  return new Problem('missing', 'log.empty', 'No checkpoint has been signed yet. Retry after 1 second.', {
    retryAfter: 1,
  });
}

function malformed(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'log.size', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
