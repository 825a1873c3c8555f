import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Background } from '../work/background.js';
import { DataSource, Column, Entity, PrimaryColumn } from 'typeorm';

/** SealFormatRow is a single row with the time from which ciphertexts identify their key. */
@Entity('seal_format')
export class SealFormatRow {
  @PrimaryColumn('boolean', { default: true, primaryKeyConstraintName: 'seal_format_one_row' })
  only: boolean;

  @Column('timestamptz')
  namesKeysFrom: Date;

  /** Time at which rows of the earlier version are adopted; null in a database created with sealed rows. */
  @Column('timestamptz', { nullable: true })
  rowsSealedFrom: Date | null;

  /** Seal that proves that rows without a seal are rejected (RowSealEpoch). */
  @Column('bytea', { nullable: true })
  rowsSeal: Buffer | null;

  /** Like `rowsSeal`, for the tables of the second generation. */
  @Column('bytea', { nullable: true })
  rowsSeal2: Buffer | null;
}

const LOOK_EVERY_MS = 5000;

/**
 * SealFormat decides whether ciphertexts may identify their key and be produced by the HSM. The previous version supports neither, so the format of the
 * previous version is used while its processes may still be running: for a day after the migration, or until an operator ends the period
 * (`sealwright-admin reseal`). A row in the database determines the format for all processes.
 */
@Injectable()
export class SealFormat implements OnModuleInit {
  private readonly logger = new Logger(SealFormat.name);
  private named = false;

  constructor(private readonly db: DataSource) {}

  get namesKeys(): boolean {
    return this.named;
  }

  async onModuleInit(): Promise<void> {
    await this.look();
  }

  /** Reads which format is in effect. The switch to the new format is irreversible, so a process that has seen it stops checking. */
  @Background({ name: 'seal-format', scope: 'process', every: LOOK_EVERY_MS })
  async look(): Promise<void> {
    if (this.named) return;
    try {
      const rows: unknown[] = await this.db.query('SELECT 1 FROM seal_format WHERE names_keys_from <= now()');
      this.named = rows.length > 0;
    } catch (error) {
      this.logger.debug(`unable to determine the format of seals: ${String(error)}`);
    }
  }

  /** Switches all processes to the new format. */
  async begin(): Promise<void> {
    await this.db.query('UPDATE seal_format SET names_keys_from = now() WHERE names_keys_from > now()');
    await this.look();
  }
}
