import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { columns } from '../database/statements.js';
import { newId } from '../database/new-id.js';
import { lockDue } from '../work/claim.js';
import { BackgroundJobs } from '../work/background-jobs.js';

/**
 * OutboxMessage is a signal that must follow a change. The row is inserted in the transaction of the change, and deleted after the queue has received the
 * signal.
 */
@Entity('outbox_message')
@Index('outbox_message_topic', ['topic', 'id'])
export class OutboxMessage {
  @PrimaryColumn('uuid')
  id: string;

  /** Queue that receives the signal. */
  @Column('text')
  topic: string;

  /** ID of the row that waits to be processed. */
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
 * Outbox stores job signals in the transaction of the change that they announce, and delivers the signals to their queue: immediately after a commit in
 * this process, otherwise at the next poll. A loss of Redis loses no work, because rows record the pending work.
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

  /** Wakes the relay of this process. Call this method after COMMIT. */
  committed(topic: string): void {
    this.jobs.wake(jobOf(topic));
  }

  /**
   * Starts delivering the messages of a topic. `deliver` passes a group of subjects to the queue. `deliver` must time out within one or two seconds,
   * because the rows stay locked until then. If `deliver` rejects, the same messages are delivered again.
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

/** Delivers messages, deletes the delivered messages, and returns their number. Any number of relays can share the table. */
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
