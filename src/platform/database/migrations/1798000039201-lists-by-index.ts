import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** What was found by reading a whole table: uses of a key, administrators, members by group of a provider, beginnings of names and places, lists of an owner, and what is old enough to be deleted. */
const INDEXES: readonly [name: string, table: string, columns: string][] = [
  ['signing_request_key', 'signing_request', `("key_id", "created_at") WHERE NOT composed`],
  ['user_account_administrators', 'user_account', `("id") WHERE 'admin' = ANY(roles)`],
  ['external_identity_groups', 'external_identity', 'USING gin ("groups")'],
  ['inventory_source_name', 'inventory_source', '("name" text_pattern_ops)'],
  [
    'asset_occurrence_location_start',
    'asset_occurrence',
    `(left("location", 32) text_pattern_ops) WHERE location <> ''`,
  ],
  ['ssh_key_owner', 'ssh_key', '("owner", "id") WHERE owner IS NOT NULL'],
  ['alert_owner', 'alert', '("owner_id", "id") WHERE owner_id IS NOT NULL'],
  ['auth_session_ended', 'auth_session', '("ended_at") WHERE ended_at IS NOT NULL'],
  ['webhook_delivery_ended', 'webhook_delivery', `("ended_at") WHERE status <> 'PENDING'`],
  ['sensor_command_ended', 'sensor_command', '("ended_at") WHERE ended_at IS NOT NULL'],
  ['mail_message_created', 'mail_message', '("created_at")'],
];

/** No list and no job of the service reads a growing table whole (docs/decisions/0149). */
export class ListsByIndex1798000039201 implements MigrationInterface {
  name = 'ListsByIndex1798000039201';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const [name, table, columns] of INDEXES) await createIndexConcurrently(queryRunner, name, table, columns);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const [name] of INDEXES.toReversed()) await queryRunner.query(`DROP INDEX "${name}"`);
  }
}
