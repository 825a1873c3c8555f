import { Injectable, Logger } from '@nestjs/common';
import { RunExecutor } from '../../platform/schedules/run-executor.js';
import type { RunOutcome } from '../../platform/schedules/scheduled-runs.js';
import { LogVerifier } from '../../verifier/log-verifier.js';
import { LOG_CHECK } from './log-check.target.js';
import { LogExport } from './log-export.js';
import { LogReader } from './log-reader.js';

/** Of findings, in the outcome of a run. */
const MOST_SHOWN = 5;

/** Carries out the runs of schedules that check the log. */
@Injectable()
export class LogChecker {
  private readonly logger = new Logger(LogChecker.name);

  constructor(
    private readonly executor: RunExecutor,
    private readonly reader: LogReader,
    private readonly log: LogExport,
  ) {}

  async look(): Promise<void> {
    await this.executor.carryOut(LOG_CHECK, () => this.outcome());
  }

  private async outcome(): Promise<RunOutcome> {
    const { publicKey } = await this.reader.key();
    const verifier = new LogVerifier({ publicKey });
    for await (const lines of this.log.lines())
      for (const line of lines.split('\n')) if (line !== '') verifier.line(line);
    const { size, findings } = verifier.end();
    if (findings.length === 0) return { ok: true, detail: `${size} leaves are what their checkpoint says` };
    const shown = findings.slice(0, MOST_SHOWN).map(({ index, detail }) => (index === undefined ? detail : `leaf ${index}: ${detail}`)); // prettier-ignore
    this.logger.error(`the audit log is not what was signed: ${shown.join('; ')}`);
    return { ok: false, detail: `The audit log is not what was signed: ${shown.join('; ')}` };
  }
}
