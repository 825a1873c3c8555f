import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { KeyVault, type LogAnchor, type LogHold } from '../../hsm/key-vault.js';
import { Config } from '../../platform/config/config.js';
import { newId } from '../../platform/database/new-id.js';
import type { LogKey } from './log.entity.js';
import { Problem } from '../../platform/errors/problem.js';

export type MadeLogKey = Omit<LogKey, 'publicKey'> & { readonly publicKey: Buffer };

/** LogKeys manages the log key. The key is created in the HSM for the first checkpoint and never signs data that a caller chooses. */
@Injectable()
export class LogKeys {
  private known: MadeLogKey | undefined;
  /** Name of a new log. */
  readonly origin: string;

  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    config: Config,
  ) {
    this.origin = `${new URL(config.publicUrl).host}/log`;
  }

  async current(): Promise<MadeLogKey | undefined> {
    this.known ??= await this.read();
    return this.known;
  }

  /**
   * Returns the key, and creates a key if there is none. The caller must hold the sequencer's lock. Throws Problem `log.other-key` if the token has already
   * signed for a log with this name, because a log cannot start again.
   */
  async ensured(): Promise<MadeLogKey> {
    const there = await this.current();
    if (there !== undefined) return there;
    const { origin } = this;
    const anchor = await this.vault.logAnchor(origin);
    if (anchor !== undefined && anchor.size > 0) throw logHeld('other-key', anchor, 0);
    const id = newId();
    const ckaId = Buffer.from(id.replaceAll('-', ''), 'hex');
    // Outside the sequencer's transaction: the row must be committed before the HSM creates the key, even if the transaction is rolled back later.
    await this.db.query(`INSERT INTO log_key (id, cka_id, origin) VALUES ($1, $2, $3)`, [id, ckaId, origin]);
    const { publicKey, evidence } = await this.vault.generateLogKey({ ckaId, origin });
    await this.db.query(`UPDATE log_key SET public_key = $2, evidence = $3 WHERE id = $1 AND public_key IS NULL`, [
      id,
      publicKey,
      JSON.stringify(evidence),
    ]);
    const made = await this.current();
    if (made === undefined) throw new Error('the log_key table has no row with a public key');
    return made;
  }

  /** Reads the key from the database, bypassing the cache. */
  async read(): Promise<MadeLogKey | undefined> {
    const [row]: MadeLogKey[] = await this.db.query(
      `SELECT id, cka_id AS "ckaId", origin, public_key AS "publicKey", evidence, created_at AS "createdAt"
       FROM log_key WHERE public_key IS NOT NULL ORDER BY id DESC LIMIT 1`,
    );
    return row;
  }

  /** Drops the cached key. */
  forget(): void {
    this.known = undefined;
  }
}

/** Remedy after a restore. `accept-log` would re-enable everything that was revoked since the backup. */
const ACCEPT = 'after a restore, continue with "sealwright-admin restore status" (docs/restore.md)';

/** Returns the Problem that explains why no checkpoint is signed, with the remedy. `size` is the number of leaves in the database. */
export function logHeld(why: LogHold, anchor: LogAnchor | undefined, size: number): Problem {
  const signed = anchor?.size ?? 0;
  switch (why) {
    case 'rolled-back':
      return new Problem(
        'conflict',
        'log.rolled-back',
        `The database contains ${size} leaves of the audit log, but the HSM has signed ${signed}: the database is an older copy. Compare the database with a backup; ${ACCEPT}.`,
      );
    case 'forked':
      return new Problem(
        'conflict',
        'log.forked',
        `The first ${signed} leaves of the audit log differ from those that the HSM signed: the log was rewritten, or this is another copy of the database. Compare the database with a backup; ${ACCEPT}.`,
      );
    case 'other-key':
      return new Problem(
        'conflict',
        'log.other-key',
        `The HSM and the database have different keys for this audit log, and the HSM has signed ${signed} leaves. Restore the log_key table; ${ACCEPT}.`,
      );
    case 'no-anchor':
      return new Problem(
        'conflict',
        'log.no-anchor',
        `The HSM has no record of this audit log, and the database contains no checkpoint signed with its key. Restore the log_checkpoint table; ${ACCEPT}.`,
      );
  }
}
