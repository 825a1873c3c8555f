import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { KeyVault, type LogAnchor } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import type { Problem } from '../../platform/errors/problem.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import type { Range } from '../../verifier/merkle-tree.js';
import { openNote } from '../../verifier/signed-note.js';
import { AuditService } from '../entries/audit.service.js';
import type { Actor } from '../../access/caller.js';
import { type ForeignLeaf, foreignLeaves, restateLeaves } from './foreign-leaves.js';
import { LogAnchors, checkpointSizeOf } from './log-anchors.js';
import { LogKeys, type MadeLogKey } from './log-keys.js';
import { rootOf, SEQUENCER_LOCK } from './log-tiles.js';

const OPERATOR: Actor = { kind: 'system', id: 'operator', name: 'operator (command line)' };

/** State of a log that an operator is about to accept. */
export interface LogStanding {
  /** Reason why no checkpoint is signed; undefined if there is nothing to accept. */
  readonly fault: Problem | undefined;
  readonly anchor: LogAnchor | undefined;
  /** Number of leaves in the database. */
  readonly size: number;
  readonly root: Buffer;
}

/** Leaves that an operator must confirm by their digest in order to accept the log. */
export interface DoubtfulLeaves {
  /** Leaves after the last signed tree that the service did not append. */
  readonly foreign: readonly ForeignLeaf[];
  /** Signed leaves whose entries were changed or removed. */
  readonly damaged: readonly Range[];
  /** SHA-256 over `foreign` and `damaged`, hexadecimal; undefined if both are empty. */
  readonly digest: string | undefined;
}

/** Lets an operator declare the log in the database authoritative although the token has signed a different log. */
@Injectable()
export class LogAcceptance {
  constructor(
    private readonly db: DataSource,
    private readonly keys: LogKeys,
    private readonly anchors: LogAnchors,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
  ) {}

  async standing(tx: EntityManager = this.db.manager): Promise<LogStanding> {
    this.keys.forget();
    const [fault, anchor, size] = [await this.anchors.fault(), await this.anchors.newest(), await checkpointSizeOf(tx)];
    return { fault, anchor, size, root: await rootOf(tx, size) };
  }

  /**
   * Returns the unsigned leaves that the service did not append, together with `damaged`.
   *
   * @param damaged signed leaves whose entries were changed or removed
   */
  async doubtful(damaged: readonly Range[], tx: EntityManager = this.db.manager): Promise<DoubtfulLeaves> {
    const range = { from: await this.signedSize(tx), to: await checkpointSizeOf(tx) };
    const foreign = await foreignLeaves(tx, range, this.anchors.ownEntries());
    const isEmpty = foreign.length === 0 && damaged.length === 0;
    const digest = isEmpty
      ? undefined
      : createHash('sha256')
          .update(canonicalJson([foreign, damaged]))
          .digest('hex');
    return { foreign, damaged, digest };
  }

  /**
   * Accepts the log if the leaves in doubt still have this digest. Leaves that the service did not append become leaves of kind `foreign` or `missing`. If
   * the digest differs, changes nothing and returns undefined.
   *
   * The entry is written first, so that the log records the intention if the token fails afterwards. Checkpoints of another log are removed. The entry
   * contains the newest removed checkpoint, so that its proof is not lost.
   */
  async accept(damaged: readonly Range[], digest: string | undefined): Promise<LogStanding | undefined> {
    return this.db.transaction(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(${SEQUENCER_LOCK})`);
      const doubtful = await this.doubtful(damaged, tx);
      if (doubtful.digest !== digest) return undefined;
      await this.restate(tx);
      const standing = await this.standing(tx);
      const { fault, anchor, size, root } = standing;
      const superseded = await this.supersede(tx, size);
      const detail = {
        code: fault?.code,
        signed: anchor && { size: anchor.size, root: Buffer.from(anchor.root).toString('base64') },
        accepted: { size, root: root.toString('base64') },
        superseded,
        // RightsLedger keeps reporting damage that is not listed here.
        damaged: damaged.map(({ from, to }) => [from, to]),
        foreign: doubtful.foreign.length,
        digest,
      };
      const target = { kind: 'audit-log', id: anchor?.origin ?? this.keys.origin };
      await this.audit.append(tx, [
        { action: 'audit-log.accepted', actor: OPERATOR, target, correlation: newId(), detail },
      ]);
      const key = await this.keys.read();
      const state = key && { ckaId: key.ckaId, size, root };
      await this.vault.acceptLog({ origin: key?.origin ?? this.keys.origin, state });
      return standing;
    });
  }

  /** Marks the unsigned leaves that the service did not append. Returns their number. */
  async restate(tx: EntityManager): Promise<number> {
    const range = { from: await this.signedSize(tx), to: await checkpointSizeOf(tx) };
    const isOwn = this.anchors.ownEntries();
    const foreign = await foreignLeaves(tx, range, isOwn);
    if (range.to > range.from) await restateLeaves(tx, range, isOwn);
    return foreign.length;
  }

  /** Returns the number of leaves covered by the anchor in the HSM or, if the anchor does not match, by a signed checkpoint in the database. */
  private async signedSize(tx: EntityManager): Promise<number> {
    const [anchor, key, size] = [await this.anchors.newest(), await this.keys.read(), await checkpointSizeOf(tx)];
    if (anchor !== undefined && anchor.size <= size && (await hasRoot(tx, anchor))) return anchor.size;
    return key === undefined ? 0 : checkpointedSize(tx, key, size);
  }

  /** Removes checkpoints that do not belong to this log. @returns the note of the newest removed checkpoint */
  async supersede(tx: EntityManager, size: number): Promise<string | undefined> {
    const rows: { size: string; root: Buffer; note: string }[] = await tx.query(
      `SELECT size, root, note FROM log_checkpoint ORDER BY size DESC`,
    );
    const stale: typeof rows = [];
    for (const row of rows) {
      const fits = Number(row.size) <= size && (await rootOf(tx, Number(row.size))).equals(row.root);
      // Two logs can share only a prefix, so all smaller checkpoints match as well.
      if (fits) break;
      stale.push(row);
    }
    if (stale.length > 0)
      await tx.query(`DELETE FROM log_checkpoint WHERE size = ANY($1::bigint[])`, [stale.map((row) => row.size)]);
    return stale[0]?.note;
  }
}

/** Returns the size of the newest checkpoint that is signed with the log key and covers a prefix of the tree of `size` leaves. */
async function checkpointedSize(tx: EntityManager, { publicKey }: MadeLogKey, size: number): Promise<number> {
  const rows: { note: string }[] = await tx.query(`SELECT note FROM log_checkpoint ORDER BY log_checkpoint.size DESC`);
  for (const { note } of rows) {
    const signed = openNote(note, publicKey);
    if (signed !== undefined && signed.size <= size && (await hasRoot(tx, signed))) return signed.size;
  }
  return 0;
}

async function hasRoot(
  tx: EntityManager,
  { size, root }: { readonly size: number; readonly root: Uint8Array },
): Promise<boolean> {
  try {
    return (await rootOf(tx, size)).equals(root);
  } catch {
    // Tiles are missing or too short.
    return false;
  }
}
