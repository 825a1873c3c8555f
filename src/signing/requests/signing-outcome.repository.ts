import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type NewEntry } from '../../audit/entries/audit.service.js';
import { columns, prepared } from '../../platform/database/statements.js';
import { GroupCommit } from '../../platform/database/group-commit.js';
import { EventBus } from '../../platform/events/events.js';
import { WORKER_ID } from '../../platform/work/claim.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { tracedCommit } from '../../platform/observability/tracing.js';
import { requestEntry } from '../signing-jobs.js';
import { signingStatusesBefore } from '../signing-request.entity.js';
import type { Claimed, SigningOutcome } from './signing-attempt.js';

/** The end of an attempt. `id` and `attempt` fence off late outcomes. */
interface Ended extends Pick<Claimed, 'id' | 'attempt' | 'correlation'> {
  readonly outcome: SigningOutcome;
}

/** SigningOutcomeRepository commits the outcomes of attempts before any caller sees them. Concurrent outcomes share one transaction. */
@Injectable()
export class SigningOutcomeRepository implements OnApplicationShutdown {
  private readonly settlements: GroupCommit<Ended, Date | undefined>;

  constructor(
    db: DataSource,
    private readonly audit: AuditService,
    private readonly events: EventBus,
    private readonly metrics: Metrics,
  ) {
    this.settlements = new GroupCommit(db, (tx, items) => this.write(tx, items));
  }

  /**
   * Commits an outcome and returns its time. Returns undefined if the request no longer belongs to this attempt because another worker has claimed it. The
   * outcome, including a signature, is then discarded, and an audit entry records this.
   */
  async settle(
    { id, attempt, correlation }: Claimed,
    outcome: SigningOutcome,
    way: 'sync' | 'async',
  ): Promise<Date | undefined> {
    const at = await tracedCommit('signing_request', () => this.settlements.add({ id, attempt, correlation, outcome }));
    if (at === undefined || outcome.kind === 'RELEASED') return at;
    this.metrics.settled.inc({ outcome: outcome.kind, way });
    this.events.emit('signing.settled', { requestId: id });
    return at;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.settlements.drained();
  }

  private async write(tx: EntityManager, items: Ended[]): Promise<(Date | undefined)[]> {
    const { from, values } = columns(items.map(outcomeRow), {
      id: 'uuid',
      attempt: 'int',
      status: 'text',
      signature: 'bytea',
      failure_code: 'text',
      failure_detail: 'text',
      retry_in_ms: 'int',
    });
    const next = values.length + 1;
    const rows = await prepared<{ id: string; at: Date }>(
      tx,
      'settle',
      `UPDATE signing_request r SET status = item.status, signature = item.signature, worker = NULL, lease_until = NULL,
         failure_code = item.failure_code, failure_detail = item.failure_detail,
         strikes = strikes + CASE item.status WHEN 'QUEUED' THEN 1 ELSE 0 END,
         sweep_at = CASE item.status WHEN 'QUEUED' THEN now() + item.retry_in_ms * interval '1 ms' ELSE sweep_at END,
         finished_at = CASE item.status WHEN 'QUEUED' THEN NULL ELSE now() END
       FROM ${from}
       WHERE r.id = item.id AND r.status = ANY($${next}) AND r.attempt = item.attempt AND r.worker = $${next + 1}
       RETURNING r.id, now() AS at`,
      [...values, signingStatusesBefore('SIGNED'), WORKER_ID],
    );
    const moved = new Map(rows.map(({ id, at }) => [id, at]));
    await this.keepTimestamps(
      tx,
      items.filter(({ id }) => moved.has(id)),
    );
    await this.audit.append(
      tx,
      items.map((item) => settledEntry(item, moved.has(item.id))),
    );
    return items.map(({ id }) => moved.get(id));
  }

  /** Stores timestamps in the same transaction as their signatures. */
  private async keepTimestamps(tx: EntityManager, items: Ended[]): Promise<void> {
    const rows = items.flatMap(({ id, outcome }) =>
      outcome.kind === 'SIGNED' && outcome.timestampToken !== undefined ? [{ id, token: outcome.timestampToken }] : [],
    );
    if (rows.length === 0) return;
    const { from, values } = columns(rows, { id: 'uuid', token: 'bytea' });
    await tx.query(
      `UPDATE signing_envelope SET timestamp_token = item.token FROM ${from} WHERE request_id = item.id`,
      values,
    );
  }
}

function outcomeRow({ id, attempt, outcome }: Ended) {
  return {
    id,
    attempt,
    status: outcome.kind === 'RELEASED' ? 'QUEUED' : outcome.kind,
    signature: outcome.kind === 'SIGNED' ? outcome.signature : null,
    failure_code: outcome.kind === 'FAILED' ? outcome.code : null,
    failure_detail: outcome.kind === 'FAILED' ? outcome.detail : null,
    retry_in_ms: outcome.kind === 'RELEASED' ? Math.round(outcome.retryInMs) : 0,
  };
}

function settledEntry(ended: Ended, moved: boolean): NewEntry {
  const { attempt, outcome } = ended;
  const from = 'PROCESSING';
  const signatureSha256 = outcome.kind === 'SIGNED' ? sha256Of(outcome.signature) : undefined;
  if (!moved)
    return requestEntry('signing.discarded', ended, { attempt, late: outcome.kind, signatureSha256 }, 'failed');
  switch (outcome.kind) {
    case 'SIGNED': {
      const timestampSha256 = sha256Of(outcome.timestampToken);
      const detail = { from, to: 'SIGNED', attempt, signatureSha256, timestampSha256 };
      return { ...requestEntry('signing.signed', ended, detail), record: outcome.record };
    }
    case 'FAILED':
      return requestEntry('signing.failed', ended, { from, to: 'FAILED', attempt, code: outcome.code }, 'failed');
    case 'RELEASED':
      return requestEntry('signing.released', ended, { from, to: 'QUEUED', attempt, code: outcome.code }, 'failed');
  }
}

/** Returns the SHA-256, base64. */
function sha256Of(bytes: Buffer | undefined): string | undefined {
  return bytes && createHash('sha256').update(bytes).digest('base64');
}
