import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';
import type { LeafKind } from '../../verifier/log-verifier.js';
import { type GrowingRoot, leafHash } from '../../verifier/merkle-tree.js';
import type { EntryRow } from '../entries/entry-row.js';
import { leafData, type LeafRow, readLeaves } from './log-leaf.js';
import { leafHashes } from './log-tiles.js';

/** Number of leaves per query. */
const PAGE = 1024;
/** Number of leaves to hash before yielding to the event loop. Hashing this many leaves takes about a millisecond. */
const LEAVES_PER_SLICE = 50;
/** Maximum number of hashes that a process caches. A leaf whose hash is not cached is verified against its entry. */
const MAX_REMEMBERED = 200_000;

/** IsOwn reports whether the service wrote an entry. */
export type IsOwn = (entry: EntryRow) => Promise<boolean>;

/**
 * OwnLeaves verifies that the service appended the leaves that are about to be signed. Without this check, anyone with write access to the database could
 * append leaves, and the HSM would sign them with the next checkpoint.
 */
export class OwnLeaves {
  /** Hashes of the leaves that this process appended since the last checkpoint, by index. */
  private readonly appended = new Map<number, Buffer>();

  remember(from: number, hashes: readonly Buffer[]): void {
    if (this.appended.size > MAX_REMEMBERED) this.appended.clear();
    for (const [i, hash] of hashes.entries()) this.appended.set(from + i, hash);
  }

  /** Removes the cached hashes of leaves before `size`, which are signed. */
  forget(size: number): void {
    for (const index of this.appended.keys()) if (index < size) this.appended.delete(index);
  }

  /**
   * Adds the leaves in [tree.size, to) to the tree. Verifies for each leaf that this process appended the leaf, or that the service wrote its entry.
   *
   * @throws Problem `log.foreign-leaf`
   */
  async addTo(tree: GrowingRoot, tx: EntityManager, to: number, isOwn: IsOwn): Promise<void> {
    while (tree.size < to) {
      const start = tree.size;
      const end = Math.min(start + PAGE, to);
      const hashes = await leafHashes(tx, start, end);
      const isKnown = (i: number) =>
        hashes[i] !== undefined && this.appended.get(start + i)?.equals(hashes[i]) === true;
      if (hashes.length !== end - start || !hashes.every((_, i) => isKnown(i)))
        for (const [i, row] of (await readLeaves(tx, start, end)).entries()) {
          if (i % LEAVES_PER_SLICE === LEAVES_PER_SLICE - 1) await nextTurn();
          if (!isKnown(i) && !(await isOwnLeaf(row, hashes[i], isOwn))) throw foreignLeaf(start + i);
        }
      if (hashes.length !== end - start) throw foreignLeaf(start + hashes.length);
      for (const hash of hashes) tree.add(hash);
    }
  }
}

/** The kinds of leaves that contain data written by the service. The other kinds mean that the service did not write the entry. */
const WRITTEN: ReadonlySet<LeafKind> = new Set<LeafKind>(['entry', 'record']);

/**
 * isOwnLeaf reports whether the hash matches the leaf, and the service wrote the entry of the leaf. A leaf whose kind means that the service did not
 * write the entry also counts.
 */
export async function isOwnLeaf(row: LeafRow, hash: Buffer | undefined, isOwn: IsOwn): Promise<boolean> {
  if (row.kind === null || row.entryId === null || hash === undefined) return false;
  const entry = row.at === null ? undefined : row;
  if (WRITTEN.has(row.kind) && (entry === undefined || !(await isOwn(entry)))) return false;
  const data = leafData(row.kind, row.entryId, entry);
  return data !== undefined && leafHash(data).equals(hash);
}

function foreignLeaf(index: number): Problem {
  const detail = `Leaf ${index} of the audit log was not appended by the service, or its entry was modified afterwards, so no checkpoint is signed. Find out who wrote the leaf, then mark the leaf as foreign with "sealwright-admin accept-log".`;
  return new Problem('conflict', 'log.foreign-leaf', detail);
}
