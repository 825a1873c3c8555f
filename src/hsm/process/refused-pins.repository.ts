import { createHmac, type KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource, Column, Entity, PrimaryColumn } from 'typeorm';
import type { Config } from '../../platform/config/config.js';
import { derivedKeys } from '../../platform/sealing/derived-keys.js';

/** A PIN that the token rejected. No other process tries it. */
@Entity('hsm_refused_pin')
export class RefusedPin {
  /** HMAC-SHA-256 over the label of the token and the PIN. */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'hsm_refused_pin_fingerprint' })
  fingerprint: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}

/** Time limit for queries, because the HSM does not wait for the database. */
const PATIENCE_MS = 500;

/**
 * RefusedPins records PINs that the token rejected, shared by all processes: a token locks its PIN after a few wrong attempts, and each process would
 * otherwise make one. They are stored as HMACs, because a PIN has only a few digits.
 */
export class RefusedPins {
  private readonly key: KeyObject;

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
  ) {
    [this.key] = derivedKeys(config, 'sealwright refused pin');
  }

  /** Returns undefined if the database does not respond. */
  async isRefused(pin: string): Promise<boolean | undefined> {
    const asked = this.db.query('SELECT 1 FROM hsm_refused_pin WHERE fingerprint = $1', [this.fingerprintOf(pin)]).then(
      (rows: unknown[]) => rows.length > 0,
      () => undefined,
    );
    return Promise.race([asked, sleep(PATIENCE_MS, undefined, { ref: false })]);
  }

  /** Returns false if the database does not respond; then only this process knows the PIN. */
  async remember(pin: string): Promise<boolean> {
    const sql = 'INSERT INTO hsm_refused_pin (fingerprint) VALUES ($1) ON CONFLICT DO NOTHING';
    return this.db.query(sql, [this.fingerprintOf(pin)]).then(
      () => true,
      () => false,
    );
  }

  /** Allows every PIN to be tried once more. Returns the number of PINs. */
  async forgetAll(): Promise<number> {
    const [, count]: [unknown[], number] = await this.db.query('DELETE FROM hsm_refused_pin');
    return count;
  }

  private fingerprintOf(pin: string): Buffer {
    return createHmac('sha256', this.key).update(`${this.config.pkcs11TokenLabel}\0${pin}`).digest();
  }
}
