import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/**
 * What waits in a queue is found by an index also when the queue is long, after an outage: signals by the queue that they are for, and whether a source
 * is to be counted again. What a person still has open is found by the person: links for a new password, and devices that were let in.
 */
const INDEXES: readonly [name: string, table: string, columns: string][] = [
  ['outbox_message_topic', 'outbox_message', '("topic", "id")'],
  ['inventory_recount_source', 'inventory_recount', '("source_id")'],
  ['password_reset_user', 'password_reset', '("user_id")'],
  ['device_authorization_user', 'device_authorization', '("user_id") WHERE user_id IS NOT NULL'],
];

export class QueuesByIndex1798000042500 implements MigrationInterface {
  name = 'QueuesByIndex1798000042500';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const [name, table, columns] of INDEXES) await createIndexConcurrently(queryRunner, name, table, columns);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const [name] of INDEXES.toReversed()) await queryRunner.query(`DROP INDEX "${name}"`);
  }
}
