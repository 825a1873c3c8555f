import { Injectable, Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NIL_ID } from '../database/new-id.js';
import { reasonNotToOpen, type SealedColumn, SealedColumns, type SealedRow } from './sealed-columns.js';
import { SealFormat } from './seal-format.js';
import { RowSealHealth } from './row-seal-health.js';
import { RowSealKeeper } from './row-seal-keeper.js';
import { JobLeases } from '../jobs/job-lease.repository.js';
import { Background } from '../work/background.js';

const BATCH = 100;

interface Resealed {
  readonly resealed: number;
  readonly notOpenable: number;
}

/**
 * Seals again what was sealed under an earlier secret, by an earlier key of the HSM, or in the form of a version before. A row is replaced
 * by compare-and-set, so several processes may do it at once, and it may be stopped anywhere. When it finds nothing to do, earlier secrets can
 * be forgotten.
 */
@Injectable()
export class Resealer {
  private readonly logger = new Logger(Resealer.name);

  constructor(
    private readonly columns: SealedColumns,
    private readonly format: SealFormat,
    private readonly rows: RowSealKeeper,
  ) {}

  /** Problems are those of the KeyVault; what does not open is left and counted. */
  async run(stopping: () => boolean = () => false): Promise<Resealed> {
    const done = { resealed: 0, notOpenable: 0 };
    done.resealed += await this.rows.run(stopping);
    if (!this.format.namesKeys) return done;
    for (const column of this.columns.all) await this.resealColumn(column, done, stopping);
    if (done.resealed > 0) this.logger.log(`${done.resealed} secrets and rows were sealed by the present key`);
    return done;
  }

  private async resealColumn(
    column: SealedColumn,
    done: { resealed: number; notOpenable: number },
    stopping: () => boolean,
  ): Promise<void> {
    const prefix = await column.seal.prefix();
    if (prefix === undefined) return;
    for (let after = NIL_ID; !stopping();) {
      const rows = await this.columns.rows(column, prefix, after, BATCH);
      for (const row of rows) {
        if (await this.reseal(column, row)) done.resealed += 1;
        else done.notOpenable += 1;
        await nextTurn();
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < BATCH) return;
      after = last.id;
    }
  }

  /** False for a row that does not open. */
  private async reseal(column: SealedColumn, row: SealedRow): Promise<boolean> {
    if ((await reasonNotToOpen(column, row)) !== undefined) return false;
    const { seal, purpose } = column;
    const plain = await seal.open(purpose, row.place, row.sealed);
    try {
      await this.columns.replace(column, row, await seal.close(purpose, row.place, plain));
    } finally {
      plain.fill(0);
    }
    return true;
  }
}

const MINUTE_MS = 60_000;

/** ResealerJobs reseals and verifies sealed rows in the background. */
@Injectable()
export class ResealerJobs {
  constructor(
    private readonly resealer: Resealer,
    private readonly leases: JobLeases,
    private readonly rows: RowSealKeeper,
    private readonly health: RowSealHealth,
  ) {}

  /** Runs in every process after its start, since the process may have a new secret, but in one process at a time. */
  @Background({ name: 'reseal', scope: 'process', every: 10 * MINUTE_MS, first: 10_000 })
  async reseal(isStopping: () => boolean): Promise<void> {
    await this.leases.alone('reseal', () => this.resealer.run(isStopping));
  }

  /** Verifies every sealed row and reports forged rows to health. */
  @Background({ name: 'row-seals', scope: 'cluster', every: 10 * MINUTE_MS, first: 10_000, drain: false })
  async verifyRows(): Promise<void> {
    this.health.set(await this.rows.forged());
  }
}
