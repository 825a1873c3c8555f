import { Injectable, Logger } from '@nestjs/common';
import { Column, Entity, Index, PrimaryColumn, DataSource, type EntityManager } from 'typeorm';
import { newId } from '../database/new-id.js';
import { claimDue, backOff } from '../jobs/claim.js';
import { resumed, traceParent } from '../tracing/tracing.js';
import { BackgroundJobs } from '../work/background-jobs.js';
import type { InboxMessages, InboxTopic } from './inbox-messages.js';

/** A message from one module to another that has not been taken yet. */
@Entity('handover')
@Index('handover_due', ['topic', 'dueAt', 'id'])
export class InboxMessage {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  topic: string;

  @Column('jsonb')
  body: unknown;

  /** W3C Trace Context of who handed it over; null outside of a trace. */
  @Column('text', { nullable: true })
  traceParent: string | null;

  /** It is not taken before this time: a lease while it is processed, a pause after a failure. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;

  @Column('int', { default: 0 })
  attempts: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

interface ClaimedMessage<Topic extends InboxTopic> {
  readonly id: string;
  readonly body: InboxMessages[Topic];
  readonly attempts: number;
  readonly traceParent: string | null;
}

const LEASE_SECONDS = 600;
const FIRST_PAUSE_SECONDS = 2;
const MAX_PAUSE_SECONDS = 3600;

/**
 * Hands facts from one module to another so that none is lost: the row commits with the change that made the fact, and stays until
 * the other module has done its part. Messages of a topic are taken one at a time: at once after a commit of this process, else at the
 * next look; what a process had when it died comes again when its lease has ended. A message may be taken twice, so taking it must be
 * safe to repeat.
 */
@Injectable()
export class Inbox {
  private readonly logger = new Logger(Inbox.name);

  constructor(
    private readonly db: DataSource,
    private readonly jobs: BackgroundJobs,
  ) {}

  /** In the transaction of what made the fact. */
  async add<Topic extends InboxTopic>(tx: EntityManager, topic: Topic, body: InboxMessages[Topic]): Promise<void> {
    await tx.query('INSERT INTO handover (id, topic, body, trace_parent) VALUES ($1, $2, $3, $4)', [
      newId(),
      topic,
      JSON.stringify(body),
      traceParent(),
    ]);
  }

  /** To be called after COMMIT: who takes in this process need not wait for its next look. */
  committed(topic: InboxTopic): void {
    this.jobs.wake(jobOf(topic));
  }

  /** Takes the messages of a topic from now on. When `take` rejects, the same message comes again after a pause. */
  serve<Topic extends InboxTopic>(topic: Topic, take: (body: InboxMessages[Topic]) => Promise<void>): void {
    const due = { table: 'handover', where: `topic = '${topic}' AND due_at <= now()`, order: 'due_at, id' };
    this.jobs.add({ name: jobOf(topic), scope: 'process', due }, () => this.next(topic, take));
  }

  private async next<Topic extends InboxTopic>(
    topic: Topic,
    take: (body: InboxMessages[Topic]) => Promise<void>,
  ): Promise<boolean> {
    const [message] = await this.claim(topic);
    if (message === undefined) return false;
    const { id, body, attempts, traceParent: parent } = message;
    try {
      await resumed(parent, 'inbox.take', { 'messaging.destination.name': topic }, () => take(body));
      await this.db.query('DELETE FROM handover WHERE id = $1', [id]);
    } catch (error) {
      this.logger.error(`${topic} was not taken at attempt ${attempts}: ${String(error)}`);
      const pause = backOff(attempts, FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS);
      await this.db.query(`UPDATE handover SET due_at = now() + make_interval(secs => $2) WHERE id = $1`, [id, pause]);
    }
    return true;
  }

  private claim<Topic extends InboxTopic>(topic: Topic): Promise<ClaimedMessage<Topic>[]> {
    return claimDue(
      this.db,
      {
        table: 'handover',
        where: 'topic = $1 AND due_at <= now()',
        order: 'due_at, id',
        limit: 1,
        set: `due_at = now() + interval '${LEASE_SECONDS} seconds', attempts = attempts + 1`,
        returning: 't.id, t.body, t.attempts, t.trace_parent AS "traceParent"',
      },
      [topic],
    );
  }
}

function jobOf(topic: InboxTopic): string {
  return `inbox-${topic}`;
}
