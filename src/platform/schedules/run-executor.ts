import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Problem } from '../http/problem.js';
import { type RunOutcome, ScheduledRuns } from './scheduled-runs.js';

/** A run that nobody has ended yet. */
export interface OpenRun {
  readonly id: string;
  /** What the schedule says about its target. */
  readonly settings: Record<string, unknown>;
}

export interface RunEnd extends RunOutcome {
  /** What commits together with the end of the run. */
  readonly commit?: (tx: EntityManager) => Promise<void>;
}

/** Carries out runs of targets that write nothing down when they start: the run itself says what is to be done. */
@Injectable()
export class RunExecutor {
  constructor(
    private readonly db: DataSource,
    private readonly runs: ScheduledRuns,
  ) {}

  /**
   * Carries out one run of this target, if one is under way. One process at a time holds the lock of its session; when it dies, the
   * run is still under way and the lock is free, so another process begins it anew.
   */
  async carryOut(target: string, work: (run: OpenRun) => Promise<RunEnd>): Promise<void> {
    if ((await this.open(target)) === undefined) return;
    const session = this.db.createQueryRunner();
    try {
      const lock = [`schedule run ${target}`];
      const [taken]: { mine: boolean }[] = await session.query(
        `SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine`,
        lock,
      );
      if (taken?.mine !== true) return;
      try {
        // Looked for again: whoever held the lock may have ended the run.
        const run = await this.open(target);
        if (run !== undefined) await this.end(run, await endOf(work(run)));
      } finally {
        await session.query(`SELECT pg_advisory_unlock(hashtextextended($1, 0))`, lock);
      }
    } finally {
      await session.release();
    }
  }

  private async open(target: string): Promise<OpenRun | undefined> {
    const rows: OpenRun[] = await this.db.query(
      `SELECT r.id, s.settings FROM schedule_run r JOIN schedule s ON s.id = r.schedule_id
       WHERE r.status = 'RUNNING' AND s.target = $1 ORDER BY r.id LIMIT 1`,
      [target],
    );
    return rows[0];
  }

  private async end({ id }: OpenRun, { commit, ...outcome }: RunEnd): Promise<void> {
    await this.db.transaction(async (tx) => {
      await commit?.(tx);
      await this.runs.end(tx, id, outcome);
    });
  }
}

/** What the work was refused for is why the run failed; any other error leaves the run for another attempt. */
async function endOf(work: Promise<RunEnd>): Promise<RunEnd> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { ok: false, detail: error.message };
  }
}
