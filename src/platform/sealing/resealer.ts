import { Injectable, Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NIL_ID } from '../database/new-id.js';
import { reasonNotToOpen, type SealedColumn, SealedColumns, type SealedRow } from './sealed-columns.js';
import { SealFormat } from './seal-format.js';
import { RowSealHealth } from './row-seal-health.js';
import { RowSealKeeper } from './row-seal-keeper.js';
import { JobLeases } from '../work/job-lease.repository.js';
import { Background } from '../work/background.js';

const BATCH = 100;

interface Resealed {
  readonly resealed: number;
  readonly notOpenable: number;
}

/**
 * Resealer re-encrypts data encrypted with an earlier secret, an earlier HSM key, or in the format of an earlier version. Rows are replaced with
 * compare-and-set, so Resealer can run concurrently and be interrupted at any time. Once a run finds no more data to re-encrypt, earlier secrets can be
 * removed.
 */
@Injectable()
export class Resealer {
  private readonly logger = new Logger(Resealer.name);

  constructor(
    private readonly columns: SealedColumns,
    private readonly format: SealFormat,
    private readonly rows: RowSealKeeper,
  ) {}

  /** Re-encrypts data and returns counts. Data that cannot be decrypted is kept and counted. Throws Problems of the KeyVault. */
  async run(stopping: () => boolean = () => false): Promise<Resealed> {
    const done = { resealed: 0, notOpenable: 0 };
    done.resealed += await this.rows.run(stopping);
    if (!this.format.namesKeys) return done;
    for (const column of this.columns.all) await this.resealColumn(column, done, stopping);
    if (done.resealed > 0) this.logger.log(`resealed ${done.resealed} secrets and rows with the current key`);
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

  /** Re-encrypts a row. Returns false if the row cannot be decrypted. */
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

  /**
   * Re-encrypts data with the current key. Every process schedules the job after its start, because the process may have a new secret, but only one process
   * at a time runs the job.
   */
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
