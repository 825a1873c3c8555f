import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { KeyVault, type LogAnchor } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import type { Problem } from '../../platform/errors/problem.js';
import { AuditService } from '../entries/audit.service.js';
import type { Actor } from '../../access/caller.js';
import { LogAnchors, checkpointSizeOf } from './log-anchors.js';
import { LogKeys } from './log-keys.js';
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

/** Lets an operator declare the log in the database authoritative although the token has signed a different one. */
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
    const [fault, anchor, size] = [await this.faultOf(tx), await this.anchors.newest(), await checkpointSizeOf(tx)];
    return { fault, anchor, size, root: await rootOf(tx, size) };
  }

  /**
   * The entry is written first, so that the log records the intention if the token fails afterwards. Checkpoints of another log are removed, and the
   * entry keeps the newest of them so that its proof is not lost.
   */
  async accept(): Promise<LogStanding> {
    return this.db.transaction(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(${SEQUENCER_LOCK})`);
      const standing = await this.standing(tx);
      const { fault, anchor, size, root } = standing;
      const superseded = await this.supersede(tx, size);
      const detail = {
        code: fault?.code,
        signed: anchor && { size: anchor.size, root: Buffer.from(anchor.root).toString('base64') },
        accepted: { size, root: root.toString('base64') },
        superseded,
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

  /** A log without an anchor is also faulty if the database has no checkpoint to begin with. */
  private async faultOf(tx: EntityManager): Promise<Problem | undefined> {
    const fault = await this.anchors.fault();
    if (fault !== undefined) return fault;
    const key = await this.keys.read();
    return key === undefined ? undefined : this.anchors.unanchored(tx, key);
  }

  /** Removes checkpoints that do not belong to this log. @returns the note of the newest of them */
  async supersede(tx: EntityManager, size: number): Promise<string | undefined> {
    const rows: { size: string; root: Buffer; note: string }[] = await tx.query(
      `SELECT size, root, note FROM log_checkpoint ORDER BY size DESC`,
    );
    const stale: typeof rows = [];
    for (const row of rows) {
      const fits = Number(row.size) <= size && (await rootOf(tx, Number(row.size))).equals(row.root);
      // Two trees can only have a common prefix.
      if (fits) break;
      stale.push(row);
    }
    if (stale.length > 0)
      await tx.query(`DELETE FROM log_checkpoint WHERE size = ANY($1::bigint[])`, [stale.map((row) => row.size)]);
    return stale[0]?.note;
  }
}
