import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { columns } from '../database/statements.js';
import { newId } from '../database/new-id.js';
import { lockDue } from '../jobs/claim.js';
import { BackgroundJobs } from '../work/background-jobs.js';

/** A hint that must follow a change: written in the change's transaction, deleted when the queue has it. */
@Entity('outbox_message')
@Index('outbox_message_topic', ['topic', 'id'])
export class OutboxMessage {
  @PrimaryColumn('uuid')
  id: string;

  /** Queue that the hint is for. */
  @Column('text')
  topic: string;

  /** Id of the row that waits for work. */
  @Column('uuid')
  subject: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

export interface OutboxItem {
  readonly id: string;
  readonly topic: string;
  readonly subject: string;
}

type Deliver = (subjects: string[]) => Promise<void>;

const BATCH_SIZE = 500;

/**
 * Job signals that commit together with the change that they announce, and are then carried to their queue: at once after a commit of
 * this process, else at the next look. Nothing is lost when Redis is, since the rows themselves say what waits.
 */
@Injectable()
export class Outbox {
  constructor(
    private readonly db: DataSource,
    private readonly jobs: BackgroundJobs,
  ) {}

  async add(tx: EntityManager, topic: string, subjects: readonly string[]): Promise<void> {
    if (subjects.length === 0) return;
    const rows = subjects.map((subject): OutboxItem => ({ id: newId(), topic, subject }));
    const { from, values } = columns(rows, { id: 'uuid', topic: 'text', subject: 'uuid' });
    await tx.query(`INSERT INTO outbox_message (id, topic, subject) SELECT id, topic, subject FROM ${from}`, values);
  }

  /** To be called after COMMIT: the relay of this process need not wait for its next look. */
  committed(topic: string): void {
    this.jobs.wake(jobOf(topic));
  }

  /**
   * Carries the messages of a topic from now on. `deliver` passes a group of subjects to the queue. It must give up by itself within a
   * second or two, because the rows stay locked while it runs; when it rejects, the same comes again.
   */
  serve(topic: string, deliver: Deliver): void {
    const due = { table: 'outbox_message', where: `topic = '${topic}'`, order: 'id' };
    const carry = async () => (await this.db.transaction((tx) => relay(tx, topic, deliver))) === BATCH_SIZE;
    this.jobs.add({ name: jobOf(topic), scope: 'process', due }, carry);
  }
}

function jobOf(topic: string): string {
  return `outbox-${topic}`;
}

/** Delivers messages and deletes them. Any number of relays share the table. Answers how many were delivered. */
async function relay(tx: EntityManager, topic: string, deliver: Deliver): Promise<number> {
  const rows = await lockDue<Pick<OutboxItem, 'id' | 'subject'>>(
    tx,
    { table: 'outbox_message', columns: 't.id, t.subject', where: 'topic = $1', order: 'id', limit: BATCH_SIZE },
    [topic],
  );
  if (rows.length === 0) return 0;
  await deliver(rows.map(({ subject }) => subject));
  await tx.query(`DELETE FROM outbox_message WHERE id = ANY($1::uuid[])`, [rows.map(({ id }) => id)]);
  return rows.length;
}
