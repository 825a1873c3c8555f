import { Injectable, Logger } from '@nestjs/common';
import type { Scope } from '../../access/scopes.js';
import {
  assertNoSettings,
  type RunEnd,
  type ScheduleTarget,
  ScheduleTargets,
} from '../../platform/events/schedule-targets.js';
import { LogVerifier } from '../../verifier/log-verifier.js';
import { LogAnchors } from './log-anchors.js';
import { LogExport } from './log-export.js';
import { LogReader } from './log-reader.js';

/** Maximum number of findings in the outcome of a run. */
const MAX_SHOWN = 5;

/** `log-check` verifies the whole audit log against the signed checkpoint. */
@Injectable()
export class LogCheckTarget implements ScheduleTarget {
  readonly scope = 'audit:read' satisfies Scope;
  private readonly logger = new Logger(LogCheckTarget.name);

  constructor(
    private readonly reader: LogReader,
    private readonly log: LogExport,
    private readonly anchors: LogAnchors,
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
    const fault = await this.anchors.fault();
    if (fault !== undefined) return this.wrong(`${fault.code}: ${fault.message}`);
    if (findings.length === 0) return { ok: true, detail: `all ${size} leaves match their checkpoint` };
    const shown = findings.slice(0, MAX_SHOWN).map(({ index, detail }) => (index === undefined ? detail : `leaf ${index}: ${detail}`)); // prettier-ignore
    return this.wrong(shown.join('; '));
  }

  private wrong(what: string): RunEnd {
    this.logger.error(`the audit log differs from the log that was signed: ${what}`);
    return { ok: false, detail: `The audit log differs from the log that was signed: ${what}` };
  }
}
