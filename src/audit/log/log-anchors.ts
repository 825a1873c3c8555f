import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { KeyVault, type LogAnchor } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';
import { consistencyPath } from '../../verifier/merkle-tree.js';
import { openNote, signedNote } from '../../verifier/signed-note.js';
import { AuditSeals } from '../entries/audit-seals.js';
import { logHeld, LogKeys, type MadeLogKey } from './log-keys.js';
import { rangeHashes, readTree, rootOf } from './log-tiles.js';
import { type IsOwn, OwnLeaves } from './own-leaves.js';

/** Time after the upgrade of an earlier version's log during which processes of the earlier version may still write entries without a seal. */
const UPGRADE_MS = 60 * 60_000;

/** Compares the log in the database with the anchor, which is the last tree that the token signed. */
@Injectable()
export class LogAnchors {
  constructor(
    private readonly db: DataSource,
    private readonly keys: LogKeys,
    private readonly vault: KeyVault,
    private readonly seals: AuditSeals,
  ) {}

  /**
   * Signs a checkpoint over a tree and returns the signed note (C2SP tlog-checkpoint). Throws Problem `log.rolled-back`, `log.forked`, `log.other-key` or
   * `log.no-anchor` if the tree does not continue the last signed tree, and the Problems of the vault.
   */
  async sign(tx: EntityManager, key: MadeLogKey, { size, root, lastNote }: UnsignedTree): Promise<string> {
    const { origin, ckaId, publicKey } = key;
    const start = (await this.vault.logAnchor(origin)) ?? openNote(lastNote ?? '', publicKey);
    const path = start === undefined || start.size > size ? [] : consistencyPath(start.size, size);
    const proof = path.length === 0 ? [] : await rangeHashes(tx, path);
    const answer = await this.vault.signCheckpoint({ origin, ckaId, publicKey, size, root, proof, lastNote });
    if (answer.kind === 'held') {
      // The cached key may have been read while the row in log_key was modified.
      this.keys.forget();
      throw logHeld(answer.why, answer.anchor, size);
    }
    return signedNote({ origin, size, root }, Buffer.from(answer.signature), publicKey);
  }

  /** Returns the log's fault according to the token; undefined if there is none, or if the log has no key yet. */
  async fault(): Promise<Problem | undefined> {
    const key = await this.keys.read();
    const anchor = await this.anchorOf(key);
    const size = await checkpointSizeOf(this.db.manager);
    if (anchor === undefined) return key && this.unanchored(this.db.manager, key);
    if (key === undefined) return anchor.size === 0 ? undefined : logHeld('other-key', anchor, size);
    if (!key.ckaId.equals(anchor.ckaId)) return logHeld('other-key', anchor, size);
    if (size < anchor.size) return logHeld('rolled-back', anchor, size);
    try {
      if ((await rootOf(this.db.manager, anchor.size)).equals(anchor.root)) return undefined;
    } catch {
      // Tiles are missing or too short.
    }
    return logHeld('forked', anchor, size);
  }

  /** Returns the Problem of the first leaf after the last signed tree that the service did not append; undefined if the service appended all leaves. */
  async foreignLeaf(): Promise<Problem | undefined> {
    const [tx, anchor] = [this.db.manager, await this.newest()];
    const size = await checkpointSizeOf(tx);
    if (anchor === undefined || size <= anchor.size) return undefined;
    try {
      await new OwnLeaves().addTo(await readTree(tx, anchor.size), tx, size, this.ownEntries());
      return undefined;
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  }

  /**
   * Returns the fault of a log that has a key but no anchor. The log of an earlier version continues at its newest checkpoint, which the key must have
   * signed.
   */
  private async unanchored(tx: EntityManager, key: MadeLogKey): Promise<Problem | undefined> {
    const [last]: { note: string }[] = await tx.query(`SELECT note FROM log_checkpoint ORDER BY size DESC LIMIT 1`);
    const isSigned = openNote(last?.note ?? '', key.publicKey)?.origin === key.origin;
    return isSigned ? undefined : logHeld('no-anchor', undefined, await checkpointSizeOf(tx));
  }

  /** Reports whether entries without a seal are accepted as entries of an earlier version, which is the case only for a limited time after the upgrade. */
  async acceptsUnsealed(): Promise<boolean> {
    const anchor = await this.newest();
    if (anchor === undefined) return (await this.keys.current()) === undefined;
    return anchor.size === 0 || (anchor.since > 0 && Date.now() < anchor.since + UPGRADE_MS);
  }

  /**
   * Returns a predicate for entries that the service wrote. The predicate queries the HSM at most once to determine whether entries without a seal are
   * accepted.
   */
  ownEntries(): IsOwn {
    let acceptsUnsealed: Promise<boolean> | undefined;
    return async (entry) =>
      this.seals.verifies(entry, entry.seal) ||
      (entry.seal === null && (await (acceptsUnsealed ??= this.acceptsUnsealed())));
  }

  /** Reports whether an entry with this time may have been written without a seal by an earlier version. */
  async mayLackSeal(at: Date): Promise<boolean> {
    const since = (await this.newest())?.since ?? 0;
    return since > 0 && at.getTime() < since + UPGRADE_MS;
  }

  /**
   * Returns the newest anchor; undefined if the log has no key yet. The key is created together with the first anchor, so a missing anchor of an existing
   * key means that the row of the key was changed, or that an earlier version wrote the log and this version has not signed a checkpoint yet.
   *
   * @throws Problem `audit-log.incomplete`
   */
  async ofSignedLog(): Promise<LogAnchor | undefined> {
    const key = await this.keys.read();
    const anchor = await this.anchorOf(key);
    if (anchor !== undefined || key === undefined) return anchor;
    const detail = `The HSM has no record of the audit log in the log_key table, so current rights cannot be verified. Retry after 10 seconds. If the problem persists, an operator must check "log" in /actuator/health.`;
    throw new Problem('unavailable', 'audit-log.incomplete', detail, { retryAfter: 10 });
  }

  /**
   * Returns the newest anchor; undefined if there is none. Reads the name of the log each time, because the row with the name may have been changed
   * temporarily.
   */
  async newest(): Promise<LogAnchor | undefined> {
    return this.anchorOf(await this.keys.read());
  }

  private anchorOf(key: MadeLogKey | undefined): Promise<LogAnchor | undefined> {
    return this.vault.logAnchor(key?.origin ?? this.keys.origin);
  }
}

export interface UnsignedTree {
  readonly size: number;
  readonly root: Buffer;
  /** The newest note in the database. */
  readonly lastNote: string | undefined;
}

/** Returns the number of leaves in the tree. */
export async function checkpointSizeOf(tx: EntityManager): Promise<number> {
  const [head]: { size: string }[] = await tx.query(`SELECT size FROM log_head`);
  if (head === undefined) throw new Error('the log_head table has no row');
  return Number(head.size);
}
