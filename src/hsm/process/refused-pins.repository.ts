import { createHmac, type KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource, Column, Entity, PrimaryColumn } from 'typeorm';
import type { Config } from '../../platform/config/config.js';
import { derivedKeys } from '../../platform/sealing/derived-keys.js';

/** A PIN that the token rejected and that no other process tries. */
@Entity('hsm_refused_pin')
export class RefusedPin {
  /** HMAC-SHA-256 of the token label and the PIN. */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'hsm_refused_pin_fingerprint' })
  fingerprint: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}

/** Time limit for queries, because the key process must start even if the database does not respond. */
const PATIENCE_MS = 500;

/**
 * RefusedPins records PINs that the token rejected, for all processes. Without this record, each process would try the rejected PIN, and a token locks its PIN
 * after a few wrong attempts. PINs are stored as HMACs, because an unkeyed hash of a short PIN can be reversed by guessing.
 */
export class RefusedPins {
  private readonly key: KeyObject;

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
  ) {
    [this.key] = derivedKeys(config, 'sealwright refused pin');
  }

  /** Reports whether the token rejected the PIN in any process. Returns undefined if the database does not respond. */
  async isRefused(pin: string): Promise<boolean | undefined> {
    const asked = this.db.query('SELECT 1 FROM hsm_refused_pin WHERE fingerprint = $1', [this.fingerprintOf(pin)]).then(
      (rows: unknown[]) => rows.length > 0,
      () => undefined,
    );
    return Promise.race([asked, sleep(PATIENCE_MS, undefined, { ref: false })]);
  }

  /** Records a rejected PIN. Returns false if the database does not respond; then only this process knows that the PIN was rejected. */
  async remember(pin: string): Promise<boolean> {
    const sql = 'INSERT INTO hsm_refused_pin (fingerprint) VALUES ($1) ON CONFLICT DO NOTHING';
    return this.db.query(sql, [this.fingerprintOf(pin)]).then(
      () => true,
      () => false,
    );
  }

  /** Allows every rejected PIN to be tried once more. Returns the number of rejected PINs. */
  async forgetAll(): Promise<number> {
    const [, count]: [unknown[], number] = await this.db.query('DELETE FROM hsm_refused_pin');
    return count;
  }

  private fingerprintOf(pin: string): Buffer {
    return createHmac('sha256', this.key).update(`${this.config.pkcs11TokenLabel}\0${pin}`).digest();
  }
}
