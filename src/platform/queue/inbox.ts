import { Injectable, Logger } from '@nestjs/common';
import { Column, Entity, Index, PrimaryColumn, DataSource, type EntityManager } from 'typeorm';
import { newId } from '../database/new-id.js';
import { resumed, traceParent } from '../observability/tracing.js';
import { BackgroundJobs } from '../work/background-jobs.js';
import { type ClaimedRow, dueRowsOf, WorkQueue } from '../work/work-queue.js';
import type { InboxMessages, InboxTopic } from './inbox-messages.js';

/** InboxMessage is a pending message from one module to another. */
@Entity('handover')
@Index('handover_due', ['topic', 'dueAt', 'id'])
export class InboxMessage {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  topic: string;

  @Column('jsonb')
  body: unknown;

  /** W3C Trace Context of the sender; null outside of a trace. */
  @Column('text', { nullable: true })
  traceParent: string | null;

  /** Time from which the message may be claimed: the end of the lease during processing, or the end of the pause after a failure. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;

  @Column('int', { default: 0 })
  attempts: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

interface ClaimedMessage extends ClaimedRow {
  readonly body: unknown;
  readonly traceParent: string | null;
}

const QUEUE = {
  table: 'handover',
  attempt: 'attempts',
  dueAt: 'due_at',
  open: 'true',
  order: 'due_at, id',
  columns: 't.body, t.trace_parent AS "traceParent"',
  leaseSeconds: 600,
  firstPauseSeconds: 2,
  longestPauseSeconds: 3600,
};

/**
 * Inbox passes messages from one module to another without loss. A message is committed together with the change that caused the message, and is kept until the
 * recipient has processed the message. Messages of a topic are processed one at a time: immediately after a commit in this process, otherwise at the next poll.
 * If a process dies, the claimed message becomes due again when the lease expires. A message may be processed twice, so processing must be idempotent.
 */
@Injectable()
export class Inbox {
  private readonly logger = new Logger(Inbox.name);
  private readonly queue: WorkQueue<ClaimedMessage>;

  constructor(
    private readonly db: DataSource,
    private readonly jobs: BackgroundJobs,
  ) {
    this.queue = new WorkQueue(db, QUEUE);
  }

  /** Adds a message in the transaction that causes it. */
  async add<Topic extends InboxTopic>(tx: EntityManager, topic: Topic, body: InboxMessages[Topic]): Promise<void> {
    await tx.query('INSERT INTO handover (id, topic, body, trace_parent) VALUES ($1, $2, $3, $4)', [
      newId(),
      topic,
      JSON.stringify(body),
      traceParent(),
    ]);
  }

  /** Wakes the recipient in this process. Call this method after COMMIT. */
  committed(topic: InboxTopic): void {
    this.jobs.wake(jobOf(topic));
  }

  /** Starts processing the messages of a topic. If `take` rejects, the message is retried after a pause. */
  serve<Topic extends InboxTopic>(topic: Topic, take: (body: InboxMessages[Topic]) => Promise<void>): void {
    const due = dueRowsOf({ ...QUEUE, open: `topic = '${topic}'` });
    this.jobs.add({ name: jobOf(topic), scope: 'process', due }, () => this.next(topic, take));
  }

  private async next<Topic extends InboxTopic>(
    topic: Topic,
    take: (body: InboxMessages[Topic]) => Promise<void>,
  ): Promise<boolean> {
    const [message] = await this.queue.claim(1, 'topic = $1', [topic]);
    if (message === undefined) return false;
    const { id, attempt, traceParent: parent } = message;
    const body = message.body as InboxMessages[Topic];
    try {
      await resumed(parent, 'inbox.take', { 'messaging.destination.name': topic }, () => take(body));
      await this.db.query('DELETE FROM handover WHERE id = $1', [id]);
    } catch (error) {
      this.logger.error(`unable to process ${topic} at attempt ${attempt}: ${String(error)}`);
      await this.queue.retry(message);
    }
    return true;
  }
}

function jobOf(topic: InboxTopic): string {
  return `inbox-${topic}`;
}
