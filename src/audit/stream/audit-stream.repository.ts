import { Injectable } from '@nestjs/common';
import { DataSource, Column, Entity, PrimaryColumn } from 'typeorm';
import type { StreamDestination } from '../../platform/config/stream-destinations.js';
import { type ClaimedRow, dueRowsOf, WorkQueue } from '../../platform/work/work-queue.js';
import { AuditService } from '../entries/audit.service.js';

/** Progress of the stream to a receiver of the audit log. The sending process holds a lease on the row, with a fencing token. */
@Entity('audit_stream')
export class AuditStream {
  /** Name of the destination in the configuration. */
  @PrimaryColumn('text')
  id: string;

  /** Number of the first leaf that has not been acknowledged. */
  @Column('bigint')
  position: string;

  /** Fencing token, incremented with each claim. */
  @Column('bigint', { default: 0 })
  fence: string;

  /** Time from which the row may be claimed: after the lease, or after the pause that follows a failure. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;

  /** Failures since the last acknowledgement. */
  @Column('int', { default: 0 })
  failures: number;

  @Column('text', { nullable: true })
  lastError: string | null;

  /** Time of the last acknowledgement. */
  @Column('timestamptz', { nullable: true })
  lastSuccessAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

export interface StreamClaim extends ClaimedRow {
  /** Number of the first leaf that has not been acknowledged. */
  readonly position: string;
  readonly failures: number;
}

/** State of a stream, by the database clock. */
export interface StreamState {
  readonly name: string;
  /** Leaves that have not been acknowledged. */
  readonly waiting: number;
  /** Age of the oldest unacknowledged leaf in seconds; 0 if there is none. */
  readonly oldestSeconds: number;
  /** Seconds since the last acknowledgement; null if there has been none. */
  readonly successSeconds: number | null;
  readonly lastError: string | null;
}

/** StreamLost is thrown if another process has claimed the stream. */
export class StreamLost extends Error {
  constructor() {
    super('another process has claimed this stream');
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

/** Stores the cursors of the streams. A process can write only while its claim is the newest. */
@Injectable()
export class AuditStreamRepository {
  private readonly queue: WorkQueue<StreamClaim>;

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
  ) {
    this.queue = new WorkQueue(db, QUEUE);
  }

  /** Creates the cursor of a new destination, at the end of the log or at its beginning. */
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

  /** Performs `work` while holding the claim's lease. Calls `lost` if another process has claimed the stream in the meantime. */
  hold(claim: StreamClaim, work: () => Promise<void>, lost: () => void): Promise<void> {
    return this.queue.hold(claim, work, async () => {
      if (!(await this.queue.renew(claim))) lost();
    });
  }

  /** Records that the receiver has all leaves before `position`. */
  async advance(claim: StreamClaim, position: number): Promise<void> {
    const success = `failures = 0, last_error = NULL, last_success_at = clock_timestamp()`;
    assertOurs(await this.queue.write(claim, `position = greatest(position, $3), ${success}`, [position]));
  }

  /** Releases the claim, so that another process may start sending immediately. */
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
