import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { columns } from '../database/columns.js';
import { newId } from '../database/new-id.js';

export interface OutboxItem {
  readonly id: string;
  readonly topic: string;
  readonly subject: string;
}

/**
 * Hints that commit together with the change that they announce. A relay passes them to the queue;
 * nothing is lost when Redis is, since the rows themselves say what waits.
 */
@Injectable()
export class Outbox {
  private listeners: ((topic: string) => void)[] = [];

  async add(tx: EntityManager, topic: string, subjects: readonly string[]): Promise<void> {
    if (subjects.length === 0) return;
    const rows = subjects.map((subject): OutboxItem => ({ id: newId(), topic, subject }));
    const { from, values } = columns(rows, { id: 'uuid', topic: 'text', subject: 'uuid' });
    await tx.query(`INSERT INTO outbox_message (id, topic, subject) SELECT id, topic, subject FROM ${from}`, values);
  }

  /** To be called after COMMIT: the relay of this process need not wait for its next look. */
  committed(topic: string): void {
    for (const listener of this.listeners) listener(topic);
  }

  onCommitted(listener: (topic: string) => void): void {
    this.listeners.push(listener);
  }

  /**
   * Hands up to `most` messages of a topic to `deliver` and deletes them when it succeeds. Any number of relays share
   * the table: rows that another one holds are skipped. `deliver` must give up by itself within a second or two,
   * because the rows stay locked while it runs.
   *
   * @returns how many were delivered.
   */
  async relay(
    tx: EntityManager,
    topic: string,
    most: number,
    deliver: (subjects: string[]) => Promise<void>,
  ): Promise<number> {
    const rows: { id: string; subject: string }[] = await tx.query(
      `SELECT id, subject FROM outbox_message WHERE topic = $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED`,
      [topic, most],
    );
    if (rows.length === 0) return 0;
    await deliver(rows.map(({ subject }) => subject));
    await tx.query(`DELETE FROM outbox_message WHERE id = ANY($1::uuid[])`, [rows.map(({ id }) => id)]);
    return rows.length;
  }
}
