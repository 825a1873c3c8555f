import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AlertEvents } from '../events/alert-events.js';
import { truncate } from '../text/truncate.js';

export interface RunOutcome {
  readonly ok: boolean;
  /** Result in one sentence, or the reason of the failure. */
  readonly detail: string;
}

interface EndedRun {
  readonly id: string;
  readonly scheduleId: string;
  readonly name: string;
}

const MAX_DETAIL = 1000;

/** Records the end of runs, which targets report. */
@Injectable()
export class ScheduledRuns {
  constructor(private readonly alertEvents: AlertEvents) {}

  /** Ends a run that is under way; a second time changes nothing. A failure is recorded as an alert event. */
  async end(tx: EntityManager, runId: string, { ok, detail }: RunOutcome): Promise<void> {
    const [ended]: [EndedRun[], number] = await tx.query(
      `UPDATE schedule_run r SET status = $2, detail = $3, ended_at = now() FROM schedule s
       WHERE r.id = $1 AND r.status IN ('DUE', 'RUNNING') AND s.id = r.schedule_id
       RETURNING r.id, r.schedule_id AS "scheduleId", s.name`,
      [runId, ok ? 'SUCCEEDED' : 'FAILED', truncate(detail, MAX_DETAIL)],
    );
    const [run] = ended;
    if (run === undefined || ok) return;
    const subject = { kind: 'schedule', id: run.scheduleId, name: run.name };
    await this.alertEvents.record(tx, [{ type: 'scan.failed', subject, facts: { why: detail, run: run.id } }]);
  }
}
