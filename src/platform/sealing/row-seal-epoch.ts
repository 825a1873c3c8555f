import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { RowSeals } from './row-seals.js';

const LOOK_EVERY_MS = 5000;
const STATEMENT = 'rows without a seal are refused';

/** AdoptionMark remembers outside the database that rows without a seal are refused from now on. The HSM keeps it: see audit/rows. */
export abstract class AdoptionMark {
  /** Rejects when the HSM does not answer. */
  abstract isSet(): Promise<boolean>;
  /** Records the adoption in the audit log and sets the mark, for good. `adopted`: number of rows by table. */
  abstract set(adopted: Readonly<Record<string, number>>): Promise<void>;
}

interface EpochRow {
  readonly is_new: boolean;
  readonly is_due: boolean;
  readonly rows_seal: Buffer | null;
}

/**
 * RowSealEpoch decides whether rows without a seal are refused. They are, except between the migration of a database of an earlier version and the
 * adoption of its rows, while processes of that version may still write. The end of that time is kept in the database under a seal, and in the HSM,
 * so that nobody who writes to the database can start it again. When the HSM does not answer, rows without a seal are refused.
 */
@Injectable()
export class RowSealEpoch implements OnModuleInit {
  private readonly logger = new Logger(RowSealEpoch.name);
  private isSettled = false;

  constructor(
    private readonly db: DataSource,
    private readonly seals: RowSeals,
    private readonly mark: AdoptionMark,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.look();
  }

  @Interval(LOOK_EVERY_MS)
  async look(): Promise<void> {
    if (this.isSettled) return;
    try {
      const row = await this.read();
      this.isSettled = this.isSealed(row);
      this.seals.demand(this.isSettled || row.is_new || (await this.mark.isSet()));
    } catch (error) {
      this.seals.demand(true);
      this.logger.warn(
        `whether old rows were adopted is unknown, so rows without a seal are refused: ${String(error)}`,
      );
    }
  }

  /** `adopt`: the rows of the earlier version are to be sealed now. `confirm`: the epoch has begun and is to be recorded. */
  async pending(): Promise<'adopt' | 'confirm' | undefined> {
    if (this.isSettled) return undefined;
    const row = await this.read();
    if (this.isSealed(row)) return undefined;
    if (await this.mark.isSet()) return 'confirm';
    return row.is_new || row.is_due ? 'adopt' : undefined;
  }

  /** Whether the database began with sealed rows and nobody has recorded it yet. */
  async isUnrecorded(): Promise<boolean> {
    return !this.isSettled && (await this.read()).is_new;
  }

  /** Makes every process refuse rows without a seal from now on. */
  async begin(adopted: Readonly<Record<string, number>>): Promise<void> {
    if (!(await this.mark.isSet())) await this.mark.set(adopted);
    await this.db.query('UPDATE seal_format SET rows_seal = $1', [this.seals.sealOfText(STATEMENT)]);
    await this.look();
  }

  /** The upgrade is over: the rows of the earlier version are adopted at once. */
  async hasten(): Promise<void> {
    await this.db.query('UPDATE seal_format SET rows_sealed_from = now() WHERE rows_sealed_from > now()');
  }

  private isSealed({ rows_seal: seal }: EpochRow): boolean {
    return this.seals.isSeal(seal, STATEMENT);
  }

  private async read(): Promise<EpochRow> {
    const [row]: EpochRow[] = await this.db.query(
      'SELECT rows_sealed_from IS NULL AS is_new, coalesce(rows_sealed_from <= now(), false) AS is_due, rows_seal FROM seal_format',
    );
    return row ?? { is_new: true, is_due: false, rows_seal: null };
  }
}
