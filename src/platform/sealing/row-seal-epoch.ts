import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Background } from '../work/background.js';
import { RowSeals } from './row-seals.js';
import { SEAL_GENERATIONS, type SealGeneration } from './sealed-entity.js';

const LOOK_EVERY_MS = 5000;

/** Statement covered by the seal of a generation, and the column that stores the seal. The previous version supports only the first generation. */
const KEPT: Readonly<
  Record<SealGeneration, { readonly statement: string; readonly column: 'rows_seal' | 'rows_seal2' }>
> = {
  1: { statement: 'rows without a seal are refused', column: 'rows_seal' },
  2: { statement: 'rows without a seal are refused, generation 2', column: 'rows_seal2' },
};

/** AdoptionMark records outside the database that rows without a seal are rejected from now on. The mark is stored in the HSM (RowAdoption). */
export abstract class AdoptionMark {
  /** Rejects if the HSM does not respond. */
  abstract isSet(generation: SealGeneration): Promise<boolean>;
  /**
   * Records the adoption in the audit log and sets the mark permanently.
   * @param adopted number of rows by table
   */
  abstract set(generation: SealGeneration, adopted: Readonly<Record<string, number>>): Promise<void>;
}

interface EpochRow {
  readonly is_new: boolean;
  readonly is_due: boolean;
  readonly rows_seal: Buffer | null;
  readonly rows_seal2: Buffer | null;
}

/**
 * PendingGeneration is a generation whose adoption is not recorded in the database. `adopt`: the rows of the generation must be sealed now. `confirm`: only
 * the HSM has the mark.
 */
export interface PendingGeneration {
  readonly generation: SealGeneration;
  readonly how: 'adopt' | 'confirm';
}

/**
 * RowSealEpoch decides for each generation of sealed tables whether rows without a seal are rejected. Rows without a seal are accepted only between the
 * migration of an earlier version's database and the adoption of its rows, while processes of the earlier version may still write. The end of this period
 * is stored under a seal in the database and in the HSM, so that an attacker with write access to the database cannot restart the period. If the HSM does
 * not respond, rows without a seal are rejected.
 */
@Injectable()
export class RowSealEpoch implements OnModuleInit {
  private readonly logger = new Logger(RowSealEpoch.name);
  private readonly settled = new Set<SealGeneration>();

  constructor(
    private readonly db: DataSource,
    private readonly seals: RowSeals,
    private readonly mark: AdoptionMark,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.look();
  }

  @Background({ name: 'row-seal-epoch', scope: 'process', every: LOOK_EVERY_MS })
  async look(): Promise<void> {
    for (const generation of this.unsettled()) {
      try {
        const row = await this.read();
        const isSettled = this.isSealed(row, generation);
        if (isSettled) this.settled.add(generation);
        this.seals.demand(generation, isSettled || row.is_new || (await this.mark.isSet(generation)));
      } catch (error) {
        this.seals.demand(generation, true);
        this.logger.warn(
          `rejecting rows without a seal, because it is unknown whether old rows were adopted: ${String(error)}`,
        );
      }
    }
  }

  async pending(): Promise<PendingGeneration[]> {
    const pending: PendingGeneration[] = [];
    for (const generation of this.unsettled()) {
      const row = await this.read();
      if (this.isSealed(row, generation)) continue;
      if (await this.mark.isSet(generation)) pending.push({ generation, how: 'confirm' });
      else if (row.is_new || row.is_due) pending.push({ generation, how: 'adopt' });
    }
    return pending;
  }

  /** Reports whether the database was created with sealed rows and the adoption has not been recorded yet. */
  async isUnrecorded(): Promise<boolean> {
    return this.unsettled().length > 0 && (await this.read()).is_new;
  }

  /** Makes all processes reject unsealed rows of this generation from now on. */
  async begin(generation: SealGeneration, adopted: Readonly<Record<string, number>>): Promise<void> {
    const { column, statement } = KEPT[generation];
    if (!(await this.mark.isSet(generation))) await this.mark.set(generation, adopted);
    await this.db.query(`UPDATE seal_format SET ${column} = $1`, [this.seals.sealOfText(statement)]);
    await this.look();
  }

  /** Ends the upgrade early, so that the rows of the earlier version are adopted now. */
  async hasten(): Promise<void> {
    await this.db.query('UPDATE seal_format SET rows_sealed_from = now() WHERE rows_sealed_from > now()');
  }

  private unsettled(): SealGeneration[] {
    return SEAL_GENERATIONS.filter((generation) => !this.settled.has(generation));
  }

  private isSealed(row: EpochRow, generation: SealGeneration): boolean {
    const { column, statement } = KEPT[generation];
    return this.seals.isSeal(row[column], statement);
  }

  private async read(): Promise<EpochRow> {
    const [row]: EpochRow[] = await this.db.query(
      'SELECT rows_sealed_from IS NULL AS is_new, coalesce(rows_sealed_from <= now(), false) AS is_due, rows_seal, rows_seal2 FROM seal_format',
    );
    return row ?? { is_new: true, is_due: false, rows_seal: null, rows_seal2: null };
  }
}
