import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { GrowingRoot, leafHash } from '../../verifier/merkle-tree.js';
import { LogAnchors } from '../log/log-anchors.js';
import { LeafRowsReader, leafData, type LeafRow } from '../log/log-leaf.js';
import { leafHashes } from '../log/log-tiles.js';

/** Number of leaves per query, which is four tiles. */
const PAGE = 1024;
/** Number of leaves to hash before yielding to the event loop. Hashing this many leaves takes about a millisecond. */
const LEAVES_PER_SLICE = 50;

/** A leaf of the log. `entry` is undefined if the entry was changed or removed after the leaf was appended. */
export interface VerifiedLeaf {
  readonly index: number;
  readonly entry: LeafRow | undefined;
}

/** ForkedLeaves is thrown if the root of the leaves differs from the root that the HSM signed last. */
export class ForkedLeaves extends Error {}

/** VerifiedLeaves reads the audit log up to the tree that the HSM signed last, so that hiding, changing or omitting an entry is detected. */
@Injectable()
export class VerifiedLeaves {
  constructor(
    private readonly db: DataSource,
    private readonly anchors: LogAnchors,
    private readonly leaves: LeafRowsReader,
  ) {}

  /** Returns the number of leaves that the HSM signed. Rejects if the HSM does not respond or has no record of the log. */
  async signedSize(): Promise<number> {
    return (await this.anchors.ofSignedLog())?.size ?? 0;
  }

  /** Reports whether the entry of a leaf still matches the hash of the leaf. */
  async isIntact(index: number): Promise<boolean> {
    const [[row], [hash]] = await Promise.all([
      this.leaves.rows(index, index + 1),
      leafHashes(this.db.manager, index, index + 1),
    ]);
    return row !== undefined && hash !== undefined && isAsNumbered(row, hash);
  }

  /**
   * Passes each signed leaf after the end of `tree` to `visit`, and adds the leaf to `tree`. Treat the leaves as valid only after the promise has resolved,
   * because the root is compared at the end.
   *
   * @throws ForkedLeaves
   */
  async follow(tree: GrowingRoot, visit: (leaf: VerifiedLeaf) => void): Promise<void> {
    const anchor = await this.anchors.ofSignedLog();
    if (anchor === undefined) return;
    while (tree.size < anchor.size) {
      const to = Math.min(tree.size + PAGE, anchor.size);
      const [rows, hashes] = await Promise.all([
        this.leaves.rows(tree.size, to),
        leafHashes(this.db.manager, tree.size, to),
      ]);
      for (const [i, row] of rows.entries()) {
        const hash = hashes[i];
        if (hash === undefined) throw new ForkedLeaves(`leaf ${tree.size} is missing from the tree`);
        visit({ index: tree.size, entry: isAsNumbered(row, hash) ? row : undefined });
        tree.add(hash);
        if (i % LEAVES_PER_SLICE === LEAVES_PER_SLICE - 1) await nextTurn();
      }
    }
    if (tree.size === anchor.size && tree.root().equals(anchor.root)) return;
    throw new ForkedLeaves(`the ${anchor.size} leaves signed by the HSM differ from those in the database`);
  }
}

function isAsNumbered(row: LeafRow, hash: Buffer): boolean {
  if (row.kind === null || row.entryId === null) return false;
  const data = leafData(row.kind, row.entryId, row.at === null ? undefined : row);
  return data !== undefined && leafHash(data).equals(hash);
}
