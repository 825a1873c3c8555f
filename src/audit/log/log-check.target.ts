import { Injectable, Logger } from '@nestjs/common';
import type { Scope } from '../../auth/scopes.js';
import { assertNoSettings } from '../../platform/schedules/no-settings.js';
import { type RunEnd, type ScheduleTarget, ScheduleTargets } from '../../platform/schedules/schedule-targets.js';
import { LogVerifier } from '../../verifier/log-verifier.js';
import { LogExport } from './log-export.js';
import { LogReader } from './log-reader.js';

/** Of findings, in the outcome of a run. */
const MOST_SHOWN = 5;

/** `log-check`: reads the whole audit log and checks it against its signed checkpoint. */
@Injectable()
export class LogCheckTarget implements ScheduleTarget {
  readonly scope = 'audit:read' satisfies Scope;
  private readonly logger = new Logger(LogCheckTarget.name);

  constructor(
    private readonly reader: LogReader,
    private readonly log: LogExport,
    targets: ScheduleTargets,
  ) {
    targets.serve('log-check', this);
  }

  check(settings: Record<string, unknown>): void {
    assertNoSettings(settings);
  }

  async carryOut(): Promise<RunEnd> {
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
