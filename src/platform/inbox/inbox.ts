import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { newId } from '../database/new-id.js';
import type { InboxMessages, InboxTopic } from './inbox-messages.js';

const LEASE_SECONDS = 600;
/** The pause doubles with each failure, up to an hour. */
const PAUSE = `least(3600, 2 ^ attempts) * interval '1 second'`;

export interface ClaimedMessage<Topic extends InboxTopic> {
  readonly id: string;
  readonly body: InboxMessages[Topic];
  readonly attempts: number;
}

/**
 * Hands facts from one module to another so that none is lost: the row commits with the change that made the fact, and stays until
 * the other module has done its part. It may be taken twice; taking it must be safe to repeat.
 */
@Injectable()
export class Inbox {
  private listeners: ((topic: InboxTopic) => void)[] = [];

  constructor(private readonly db: DataSource) {}

  /** In the transaction of what made the fact. */
  async add<Topic extends InboxTopic>(tx: EntityManager, topic: Topic, body: InboxMessages[Topic]): Promise<void> {
    await tx.query('INSERT INTO handover (id, topic, body) VALUES ($1, $2, $3)', [
      newId(),
      topic,
      JSON.stringify(body),
    ]);
  }

  /** To be called after COMMIT: who takes in this process need not wait for its next look. */
  committed(topic: InboxTopic): void {
    for (const listener of this.listeners) listener(topic);
  }

  onCommitted(listener: (topic: InboxTopic) => void): void {
    this.listeners.push(listener);
  }

  /** Takes the next one under a lease, passing over what others have taken. Undefined when nothing is due. */
  async claim<Topic extends InboxTopic>(topic: Topic): Promise<ClaimedMessage<Topic> | undefined> {
    const [rows] = (await this.db.query(
      `UPDATE handover SET due_at = now() + interval '${LEASE_SECONDS} seconds', attempts = attempts + 1 WHERE id = (
         SELECT id FROM handover WHERE topic = $1 AND due_at <= now() ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id, body, attempts`,
      [topic],
    )) as [ClaimedMessage<Topic>[], number];
    return rows[0];
  }

  async done(id: string): Promise<void> {
    await this.db.query('DELETE FROM handover WHERE id = $1', [id]);
  }

  /** It comes again after a while. */
  async failed(id: string): Promise<void> {
    await this.db.query(`UPDATE handover SET due_at = now() + ${PAUSE} WHERE id = $1`, [id]);
  }
}
