import { Injectable } from '@nestjs/common';
import { DataSource, Column, Entity, PrimaryColumn } from 'typeorm';
import type { StreamDestination } from '../../platform/config/stream-destinations.js';
import { type ClaimedRow, dueRowsOf, WorkQueue } from '../../platform/work/work-queue.js';
import { AuditService } from '../entries/audit.service.js';

/** How far a receiver of the audit log has got. The process that sends holds the row by its lease and its fence. */
@Entity('audit_stream')
export class AuditStream {
  /** Name of the destination in the settings. */
  @PrimaryColumn('text')
  id: string;

  /** Number of the first leaf that is not acknowledged. */
  @Column('bigint')
  position: string;

  /** Goes up with each claim. */
  @Column('bigint', { default: 0 })
  fence: string;

  /** When the row may be claimed: after the lease, or after the pause that follows a failure. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;

  /** Failures since something was acknowledged. */
  @Column('int', { default: 0 })
  failures: number;

  @Column('text', { nullable: true })
  lastError: string | null;

  /** When something was acknowledged last. */
  @Column('timestamptz', { nullable: true })
  lastSuccessAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

export interface StreamClaim extends ClaimedRow {
  /** Number of the first leaf that is not acknowledged. */
  readonly position: string;
  readonly failures: number;
}

/** How a stream is doing, by the clock of the database. */
export interface StreamState {
  readonly name: string;
  /** Leaves that are not acknowledged. */
  readonly waiting: number;
  /** Age of the oldest of them in seconds; 0 when nothing waits. */
  readonly oldestSeconds: number;
  /** Seconds since something was acknowledged; null when nothing was yet. */
  readonly successSeconds: number | null;
  readonly lastError: string | null;
}

/** Another process has taken the stream over. */
export class StreamLost extends Error {
  constructor() {
    super('another process sends this stream now');
  }
}

const QUEUE = {
  table: 'audit_stream',
  attempt: 'fence',
  dueAt: 'due_at',
  open: 'true',
  columns: 't.position, t.failures',
  leaseSeconds: 15,
};
/** DUE_STREAM selects the streams that no process is sending. */
export const DUE_STREAM = dueRowsOf(QUEUE);
const OPERATOR = { kind: 'system', id: 'audit-stream', name: 'audit stream' } as const;

/** The cursors of the streams. What a process writes counts only while its claim is the newest. */
@Injectable()
export class AuditStreamRepository {
  private readonly queue: WorkQueue<StreamClaim>;

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
  ) {
    this.queue = new WorkQueue(db, QUEUE);
  }

  /** Gives a destination that has none a cursor: at the end of the log, or at its beginning. */
  async begin({ name, kind, url, format, from }: StreamDestination): Promise<void> {
    await this.db.transaction(async (tx) => {
      const rows: { position: string }[] = await tx.query(
        `INSERT INTO audit_stream (id, position) SELECT $1, CASE WHEN $2 THEN 0 ELSE size END FROM log_head
         ON CONFLICT (id) DO NOTHING RETURNING position`,
        [name, from === 'start'],
      );
      const [row] = rows;
      if (row === undefined) return;
      const target = { kind: 'audit-stream', id: name };
      const detail = { receiver: url.host, kind, format, first: Number(row.position) };
      await this.audit.append(tx, [
        { action: 'audit-stream.created', actor: OPERATOR, target, correlation: OPERATOR.id, detail },
      ]);
    });
  }

  claim(names: readonly string[], limit: number): Promise<StreamClaim[]> {
    return this.queue.claim(limit, 't.id = ANY($1::text[])', [names]);
  }

  /** Performs `work` under the lease of a claim. Calls `lost` if another process has claimed the stream since. */
  hold(claim: StreamClaim, work: () => Promise<void>, lost: () => void): Promise<void> {
    return this.queue.hold(claim, work, async () => {
      if (!(await this.queue.renew(claim))) lost();
    });
  }

  /** Records that the receiver has everything before this number. */
  async advance(claim: StreamClaim, position: number): Promise<void> {
    const success = `failures = 0, last_error = NULL, last_success_at = clock_timestamp()`;
    assertOurs(await this.queue.write(claim, `position = greatest(position, $3), ${success}`, [position]));
  }

  /** Another process may start sending immediately. */
  async release(claim: StreamClaim): Promise<void> {
    assertOurs(await this.queue.postpone(claim, 0));
  }

  async failed(claim: StreamClaim, reason: string, pauseSeconds: number): Promise<void> {
    assertOurs(await this.queue.postpone(claim, pauseSeconds, 'failures = failures + 1, last_error = $3', [reason]));
  }

  async states(names: readonly string[]): Promise<StreamState[]> {
    if (names.length === 0) return [];
    return this.db.query(
      `SELECT s.id AS name, greatest(0, h.size - s.position)::float8 AS waiting, s.last_error AS "lastError",
         extract(epoch FROM clock_timestamp() - s.last_success_at)::float8 AS "successSeconds",
         coalesce((SELECT extract(epoch FROM clock_timestamp() - e.at) FROM log_leaf l JOIN audit_entry e ON e.id = l.entry_id
           WHERE l.index >= s.position ORDER BY l.index LIMIT 1), 0)::float8 AS "oldestSeconds"
       FROM audit_stream s CROSS JOIN log_head h WHERE s.id = ANY($1::text[]) ORDER BY s.id`,
      [names],
    );
  }
}

function assertOurs(isOurs: boolean): void {
  if (!isOurs) throw new StreamLost();
}
