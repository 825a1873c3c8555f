import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Background } from '../work/background.js';
import { DataSource, Column, Entity, PrimaryColumn } from 'typeorm';

/** One row: since when secrets are sealed in a form that names the key. */
@Entity('seal_format')
export class SealFormatRow {
  @PrimaryColumn('boolean', { default: true, primaryKeyConstraintName: 'seal_format_one_row' })
  only: boolean;

  @Column('timestamptz')
  namesKeysFrom: Date;

  /** When the rows of the earlier version are adopted; null in a database that began with sealed rows. */
  @Column('timestamptz', { nullable: true })
  rowsSealedFrom: Date | null;

  /** Shows that rows without a seal are refused: see RowSealEpoch. */
  @Column('bytea', { nullable: true })
  rowsSeal: Buffer | null;

  /** The same for the tables of the second generation. */
  @Column('bytea', { nullable: true })
  rowsSeal2: Buffer | null;
}

const LOOK_EVERY_MS = 5000;

/**
 * Whether what is sealed may name its key and be sealed by the HSM. The version before opens neither, so until it runs nowhere any more
 * secrets are sealed as it did: for a day after the migration, or until an operator says so (`sealwright-admin reseal`). One row of the database
 * decides for all processes.
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

  /** There is no way back: what names its key stays so. */
  @Background({ name: 'seal-format', scope: 'process', every: LOOK_EVERY_MS })
  async look(): Promise<void> {
    if (this.named) return;
    try {
      const rows: unknown[] = await this.db.query('SELECT 1 FROM seal_format WHERE names_keys_from <= now()');
      this.named = rows.length > 0;
    } catch (error) {
      this.logger.debug(`the form of seals is unknown: ${String(error)}`);
    }
  }

  /** Every process seals in the new form from now on. */
  async begin(): Promise<void> {
    await this.db.query('UPDATE seal_format SET names_keys_from = now() WHERE names_keys_from > now()');
    await this.look();
  }
}
