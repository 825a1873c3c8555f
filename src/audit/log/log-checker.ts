import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Problem } from '../../platform/http/problem.js';
import { type RunOutcome, ScheduledRuns } from '../../platform/schedules/scheduled-runs.js';
import { LogVerifier } from '../../verifier/log-verifier.js';
import { LOG_CHECK } from './log-check.target.js';
import { LogExport } from './log-export.js';
import { LogReader } from './log-reader.js';

/** Of findings, in the outcome of a run. */
const MOST_SHOWN = 5;

/**
 * Carries out the runs of schedules that check the log. One process at a time holds the lock of its session; when it dies, the run is
 * still under way and the lock is free, so another one begins it anew.
 */
@Injectable()
export class LogChecker {
  private readonly logger = new Logger(LogChecker.name);

  constructor(
    private readonly db: DataSource,
    private readonly reader: LogReader,
    private readonly log: LogExport,
    private readonly runs: ScheduledRuns,
  ) {}

  async look(): Promise<void> {
    const waiting: { id: string }[] = await this.db.query(
      `SELECT r.id FROM schedule_run r JOIN schedule s ON s.id = r.schedule_id WHERE r.status = 'RUNNING' AND s.target = $1 LIMIT 1`,
      [LOG_CHECK],
    );
    const [run] = waiting;
    if (run === undefined) return;
    const session = this.db.createQueryRunner();
    try {
      const lock = `hashtextextended('log.check', 0)`;
      const [taken]: { mine: boolean }[] = await session.query(`SELECT pg_try_advisory_lock(${lock}) AS mine`);
      if (taken?.mine !== true) return;
      try {
        const outcome = await this.outcome();
        await this.db.transaction((tx) => this.runs.end(tx, run.id, outcome));
      } finally {
        await session.query(`SELECT pg_advisory_unlock(${lock})`);
      }
    } finally {
      await session.release();
    }
  }

  private async outcome(): Promise<RunOutcome> {
    try {
      const { publicKey } = await this.reader.key();
      const verifier = new LogVerifier({ publicKey });
      for await (const lines of this.log.lines())
        for (const line of lines.split('\n')) if (line !== '') verifier.line(line);
      const { size, findings } = verifier.end();
      if (findings.length === 0) return { ok: true, detail: `${size} leaves are what their checkpoint says` };
      const shown = findings.slice(0, MOST_SHOWN).map(({ index, detail }) => (index === undefined ? detail : `leaf ${index}: ${detail}`)); // prettier-ignore
      this.logger.error(`the audit log is not what was signed: ${shown.join('; ')}`);
      return { ok: false, detail: `The audit log is not what was signed: ${shown.join('; ')}` };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return { ok: false, detail: error.message };
    }
  }
}
