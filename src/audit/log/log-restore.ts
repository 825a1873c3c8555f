import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { KeyVault, type LogAnchor } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { AuditService } from '../entries/audit.service.js';
import type { Actor } from '../../access/caller.js';
import { LogAcceptance, type LogStanding } from './log-acceptance.js';
import { logHeld, LogKeys, type MadeLogKey } from './log-keys.js';
import { SEQUENCER_LOCK } from './log-tiles.js';
import { type RestoredDatabase, RestoredDatabases } from './restored-databases.repository.js';

const OPERATOR: Actor = { kind: 'system', id: 'operator', name: 'operator (command line)' };
const RESTORED = new RestoredDatabases();
const LOG_LABEL = 'sealwright-log';
const ACCEPT = 'check the database as described in docs/restore.md, then run "sealwright-admin restore accept"';

/** A state of the log. */
interface LogState {
  readonly size: number;
  readonly root: Uint8Array;
}

/** The result of `accept`. */
interface AcceptedRestore {
  readonly standing: LogStanding;
  /** Name of the log before and after the acceptance. */
  readonly origin: { readonly before: string; readonly after: string };
}

/**
 * Checks that the database and the token match and are from the same time, and lets an operator accept a database that is older than the token. The log then
 * continues under another name, so that no two histories share a name.
 */
@Injectable()
export class LogRestore {
  constructor(
    private readonly db: DataSource,
    private readonly keys: LogKeys,
    private readonly acceptance: LogAcceptance,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
  ) {}

  /**
   * Returns why this database must not be served with this token; undefined if the database may be served. Rejects if the database or the token does not
   * respond.
   */
  async fault(): Promise<Problem | undefined> {
    return (await this.difference()) ?? (await this.restored());
  }

  /** Puts a database that was restored by means other than `restore run` into restore mode. */
  async hold(backup: string, madeAt: Date): Promise<void> {
    await RESTORED.hold(this.db.manager, { backup, madeAt });
  }

  /** Returns the Problem if the log in the database differs from the token's record of the log. */
  private async difference(): Promise<Problem | undefined> {
    this.keys.forget();
    const key = await this.keys.read();
    if (key === undefined) return await this.faultWithoutLog();
    if (!(await this.holds(key))) return withoutToken(key);
    // After an accepted restore the log continues under the next name. If the token has signed under that name, this database predates the restore.
    const later = await this.vault.logAnchor(nextName(key.origin));
    const { fault, size } = await this.acceptance.standing();
    return fault ?? (later === undefined ? undefined : logHeld('rolled-back', later, size));
  }

  /** Reads facts about the database to be accepted. */
  inspect<Answer>(work: (tx: EntityManager) => Promise<Answer>): Promise<Answer> {
    return work(this.db.manager);
  }

  /**
   * Accepts the database in its current state, in one transaction with `changes`, whose result becomes part of the entry `log.rolled-back`. The entry
   * contains the newest removed checkpoint of another log.
   *
   * @param witnessed the newest state of the log that a witness recorded and the log key signed; this state may be newer than the state in a token that was
   * also restored
   */
  async accept(
    changes: (tx: EntityManager) => Promise<Record<string, unknown>>,
    witnessed?: LogState,
  ): Promise<AcceptedRestore> {
    const fault = await this.fault();
    return this.db.transaction(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(${SEQUENCER_LOCK})`);
      const key = await this.keys.read();
      const isHeld = key !== undefined && (await this.holds(key));
      const foreign = await this.acceptance.restate(tx);
      const standing = await this.acceptance.standing(tx);
      const superseded = await this.acceptance.supersede(tx, standing.size);
      const before = standing.anchor?.origin ?? key?.origin ?? this.keys.origin;
      const origin = { before, after: await this.free(before) };
      const backups = await RESTORED.accept(tx);
      const facts = factsOf(standing, witnessed);
      const found = { backups, foreign, damaged: [] };
      const detail = { code: fault?.code, ...facts, origin, superseded, ...found, ...(await changes(tx)) };
      const target = { kind: 'audit-log', id: before };
      await this.audit.append(tx, [
        { action: 'log.rolled-back', actor: OPERATOR, target, correlation: newId(), detail },
      ]);
      const next = isHeld ? { ...key, id: newId(), origin: origin.after } : await this.newKey(origin.after);
      await tx.query(`INSERT INTO log_key (id, cka_id, origin, public_key, evidence) VALUES ($1, $2, $3, $4, $5)`, [
        next.id,
        next.ckaId,
        next.origin,
        next.publicKey,
        JSON.stringify(next.evidence),
      ]);
      const { size, root } = standing;
      await this.vault.acceptLog({ origin: next.origin, state: { ckaId: next.ckaId, size, root } });
      return { standing, origin };
    });
  }

  private async restored(): Promise<Problem | undefined> {
    const open = await RESTORED.open(this.db.manager);
    return open && ofBackup(open);
  }

  /** Returns the fault of a database without a log. An empty database belongs to a new installation, unless the token has already signed for the log. */
  private async faultWithoutLog(): Promise<Problem | undefined> {
    const anchor = await this.vault.logAnchor(this.keys.origin);
    return anchor === undefined || anchor.size === 0 ? undefined : withoutDatabase(anchor);
  }

  private async holds({ ckaId }: MadeLogKey): Promise<boolean> {
    const held = await this.vault.holdings(LOG_LABEL);
    return held.some((key) => ckaId.equals(key.ckaId));
  }

  private async newKey(origin: string): Promise<MadeLogKey> {
    const id = newId();
    const ckaId = Buffer.from(id.replaceAll('-', ''), 'hex');
    const { publicKey, evidence } = await this.vault.generateLogKey({ ckaId, origin });
    return { id, ckaId, origin, publicKey, evidence, createdAt: new Date() };
  }

  /** Returns the first name after `before` for which the token has not signed. */
  private async free(before: string): Promise<string> {
    for (let origin = nextName(before); ; origin = nextName(origin)) {
      const anchor = await this.vault.logAnchor(origin);
      if (anchor === undefined || anchor.size === 0) return origin;
    }
  }
}

/** Returns the next name of a log: `host/log`, `host/log/2`, `host/log/3` and so on. */
function nextName(origin: string): string {
  const [, stem = origin, number = '1'] = /^(.*\/log)(?:\/(\d{1,6}))?$/.exec(origin) ?? [];
  return `${stem}/${Number(number) + 1}`;
}

/**
 * Returns the two states of the log that auditors compare with their checkpoints: the newest state known to be signed, and the accepted state from which
 * the log continues.
 */
function factsOf({ anchor, size, root }: LogStanding, witnessed: LogState | undefined) {
  const signed = witnessed !== undefined && witnessed.size > (anchor?.size ?? 0) ? witnessed : anchor;
  return {
    signed: signed && { size: signed.size, root: Buffer.from(signed.root).toString('base64') },
    accepted: { size, root: root.toString('base64') },
  };
}

function withoutDatabase({ size, origin }: LogAnchor): Problem {
  const detail = `The HSM has signed ${size} leaves of the audit log ${origin}, but this database contains no audit log: the database is empty or belongs to another installation. Restore the database of this token, or correct SVC_DATABASE_URL; otherwise, ${ACCEPT}.`;
  return new Problem('unavailable', 'log.no-database', detail);
}

function ofBackup({ backup, madeAt }: Pick<RestoredDatabase, 'backup' | 'madeAt'>): Problem {
  const detail = `This database was restored from the backup ${backup} of ${madeAt.toISOString()} and lacks all later revocations and signatures. To accept the database, ${ACCEPT}.`;
  return new Problem('unavailable', 'log.restored', detail);
}

function withoutToken({ origin }: MadeLogKey): Problem {
  const detail = `The HSM does not contain the key of the audit log ${origin}, so this is not the token of this database. Restore the token from its backup, or correct SVC_PKCS11_TOKEN_LABEL; otherwise, ${ACCEPT}.`;
  return new Problem('unavailable', 'log.no-token', detail);
}
