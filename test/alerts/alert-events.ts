import type { AlertEvent } from '../../src/platform/events/alert-events.js';
import type { Stage } from '../support/stage.js';

/** Inserts the same alert event `times` times, as the service's modules do. */
export async function recordAlertEvent(stage: Stage, event: AlertEvent, times = 1): Promise<void> {
  const { type, subject, count = 1, facts = {}, over = false } = event;
  await stage.sql(
    `INSERT INTO happening (id, type, subject_kind, subject_id, subject_name, count, facts, over)
     SELECT gen_random_uuid(), $1, $2, $3, $4, $5, $6, $7 FROM generate_series(1, $8)`,
    [type, subject.kind, subject.id, subject.name, count, JSON.stringify(facts), over, times],
  );
}

export const failedScan = (id: string, facts: Record<string, string> = {}): AlertEvent => ({
  type: 'scan.failed',
  subject: { kind: 'schedule', id, name: `nightly scan of ${id}` },
  facts: { why: 'The host key of db1 is not the pinned one.', where: 'db1.corp.example:22', ...facts },
});

/** Makes notifications due immediately instead of five seconds after the first event of a burst. Skips the alert whose subject is `except`. */
export function hurryAlerts(stage: Stage, except = ''): NodeJS.Timeout {
  return setInterval(() => {
    void stage
      .sql(
        `UPDATE alert SET notify_at = now() WHERE notify_at > now() AND notify_at < now() + interval '6 seconds' AND subject_id <> $1`,
        [except],
      )
      .catch(() => undefined);
  }, 300);
}
