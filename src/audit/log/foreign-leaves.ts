import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import type { LeafKind } from '../../verifier/log-verifier.js';
import { leafHash, type Range } from '../../verifier/merkle-tree.js';
import { leafData, loggedEntry, type LoggedEntry, type LeafRow, readLeaves } from './log-leaf.js';
import { appendLeaves, leafHashes, truncateTree } from './log-tiles.js';
import { isOwnLeaf, type IsOwn } from './own-leaves.js';

/** Number of leaves per query. */
const PAGE = 1024;

/** A leaf after the last signed tree that the service did not append, or whose entry was changed later. */
export interface ForeignLeaf {
  readonly index: number;
  /** Kind and entry of the leaf in the database; null if the row of the leaf is missing. */
  readonly kind: LeafKind | null;
  readonly entryId: string | null;
  readonly entry: LoggedEntry | undefined;
  /** Hash of the leaf in the database, base64; undefined if the hash is missing. */
  readonly hash: string | undefined;
}

/** Returns the leaves of a range that the service did not append. */
export async function foreignLeaves(tx: EntityManager, { from, to }: Range, isOwn: IsOwn): Promise<ForeignLeaf[]> {
  const found: ForeignLeaf[] = [];
  for await (const { row, hash, index } of leavesIn(tx, { from, to })) {
    if (await isOwnLeaf(row, hash, isOwn)) continue;
    const entry = row.at === null ? undefined : loggedEntry(row);
    found.push({ index, kind: row.kind, entryId: row.entryId, entry, hash: hash?.toString('base64') });
  }
  return found;
}

/**
 * Rebuilds the tree of a range from its leaves. A leaf that the service did not append becomes a leaf of kind `foreign` or `missing`, so that the HSM signs
 * a true statement. If the service wrote the entry but the hash differs, the hash is recomputed from the entry.
 */
export async function restateLeaves(tx: EntityManager, { from, to }: Range, isOwn: IsOwn): Promise<void> {
  const hashes: Buffer[] = [];
  for await (const { row, hash, index } of leavesIn(tx, { from, to })) {
    if (hash !== undefined && (await isOwnLeaf(row, hash, isOwn))) hashes.push(hash);
    else hashes.push(await restated(tx, row, index, isOwn));
  }
  await truncateTree(tx, from);
  await appendLeaves(tx, from, hashes);
}

async function restated(tx: EntityManager, row: LeafRow, index: number, isOwn: IsOwn): Promise<Buffer> {
  const entry = row.at === null ? undefined : row;
  const entryId = row.entryId ?? newId();
  const kind = await kindOf(row, entry, isOwn);
  await tx.query(
    `INSERT INTO log_leaf (index, entry_id, kind) VALUES ($1, $2, $3)
     ON CONFLICT (index) DO UPDATE SET entry_id = excluded.entry_id, kind = excluded.kind`,
    [index, entryId, kind],
  );
  return leafHash(leafData(kind, entryId, entry) ?? '');
}

async function kindOf(row: LeafRow, entry: LeafRow | undefined, isOwn: IsOwn): Promise<LeafKind> {
  if (entry === undefined) return 'missing';
  if (!(await isOwn(entry))) return 'foreign';
  return row.kind === 'record' && entry.record !== null ? 'record' : 'entry';
}

async function* leavesIn(
  tx: EntityManager,
  { from, to }: Range,
): AsyncGenerator<{ readonly row: LeafRow; readonly hash: Buffer | undefined; readonly index: number }> {
  for (let start = from; start < to; start += PAGE) {
    const end = Math.min(start + PAGE, to);
    const hashes = await leafHashes(tx, start, end);
    for (const [i, row] of (await readLeaves(tx, start, end)).entries())
      yield { row, hash: hashes[i], index: start + i };
    await nextTurn();
  }
}
