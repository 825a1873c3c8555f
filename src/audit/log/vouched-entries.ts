import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { leafHash, inclusionPath } from '../../verifier/merkle-tree.js';
import { rootOfInclusion } from '../../verifier/merkle-proof.js';
import { AuditSeals } from '../entries/audit-seals.js';
import { LogAnchors } from './log-anchors.js';
import { entriesAbout, ENTRY_COLUMNS, type EntryRow } from '../entries/entry-row.js';
import { logLeafOf } from './log-leaf.js';
import { rangeHashes } from './log-tiles.js';

/** Maximum clock skew between a process, whose clock sets the times of sessions, and the database, whose clock sets the times of entries. */
const MAX_CLOCK_MS = 5 * 60_000;

/**
 * Reads audit entries that the service wrote: entries with a valid seal and, among entries from before seals existed, the entries in a tree signed with the log
 * key. Entries that were inserted with SQL are excluded.
 */
@Injectable()
export class VouchedEntries {
  constructor(
    private readonly seals: AuditSeals,
    private readonly anchors: LogAnchors,
  ) {}

  /**
   * Returns the entries with these actions about these targets, oldest first.
   *
   * @param detail members that the detail of an entry must have, to avoid reading every entry of a target with thousands of entries
   */
  async about(
    tx: EntityManager,
    targetIds: readonly string[],
    actions: readonly string[],
    detail: Readonly<Record<string, string>> = {},
  ): Promise<EntryRow[]> {
    if (targetIds.length === 0) return [];
    return this.vouched(tx, await entriesAbout(tx, targetIds, actions, detail));
  }

  /** Returns all entries of a rare action, oldest first. */
  async ofAction(tx: EntityManager, action: string): Promise<EntryRow[]> {
    const rows: EntryRow[] = await tx.query(
      `SELECT ${ENTRY_COLUMNS} FROM audit_entry e WHERE e.action = $1 ORDER BY e.at, e.id`,
      [action],
    );
    return this.vouched(
      tx,
      rows.filter((row) => row.action === action),
    );
  }

  /** Returns the entries about the sign-in that opened this session of a person. */
  async signIns(
    tx: EntityManager,
    { userId, sessionId, openedAt }: { readonly userId: string; readonly sessionId: string; readonly openedAt: Date },
  ): Promise<EntryRow[]> {
    const rows: EntryRow[] = await tx.query(
      `SELECT ${ENTRY_COLUMNS} FROM (SELECT * FROM audit_entry WHERE target_id = $1 AND at >= $3 OFFSET 0) e
       WHERE e.action = 'auth.signed-in' AND e.detail ->> 'session' = $2 ORDER BY e.id LIMIT 1`,
      [userId, sessionId, new Date(openedAt.getTime() - MAX_CLOCK_MS)],
    );
    return this.vouched(tx, rows);
  }

  private async vouched(tx: EntityManager, rows: readonly EntryRow[]): Promise<EntryRow[]> {
    const vouched: EntryRow[] = [];
    for (const row of rows) if (this.seals.verifies(row, row.seal) || (await this.isOlder(tx, row))) vouched.push(row);
    return vouched;
  }

  /**
   * Reports whether the entry was written by an earlier version, or with another SVC_JWT_SECRET. Returns false for an entry of this version whose seal was
   * removed in the database.
   */
  private async isOlder(tx: EntityManager, row: EntryRow): Promise<boolean> {
    if (row.seal === null) {
      if (await this.anchors.acceptsUnsealed()) return true;
      if (!(await this.anchors.mayLackSeal(new Date(row.at)))) return false;
    }
    return this.isSigned(tx, row);
  }

  private async isSigned(tx: EntityManager, row: EntryRow): Promise<boolean> {
    const [leaf]: { index: string }[] = await tx.query(
      `SELECT index FROM log_leaf WHERE entry_id = $1 AND kind = 'entry' LIMIT 1`,
      [row.id],
    );
    if (leaf === undefined) return false;
    const [index, anchor] = [Number(leaf.index), await this.anchors.newest()];
    if (anchor === undefined || index < 0 || index >= anchor.size) return false;
    const path = await rangeHashes(tx, inclusionPath(index, anchor.size));
    const root = rootOfInclusion({ index, size: anchor.size, leaf: leafHash(logLeafOf(row)), path });
    return root?.equals(anchor.root) === true;
  }
}
