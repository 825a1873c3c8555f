import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

const INDEXES: readonly [name: string, table: string, columns: string][] = [
  ['signing_request_of_key', 'signing_request', '("key_id", "id")'],
  ['signing_request_caller', 'signing_request', '("requested_by", "id")'],
  ['signing_request_reference', 'signing_request', '("reference", "id") WHERE reference IS NOT NULL'],
  ['signing_request_correlation', 'signing_request', '("correlation", "id")'],
  ['signing_request_approvals', 'signing_request', '("key_id", "approval_id") WHERE approval_id IS NOT NULL'],
  ['approval_requester_name', 'approval', '("requester_name", "id")'],
  ['api_key_name', 'api_key', '("name" text_pattern_ops)'],
  ['user_account_email_prefix', 'user_account', '("email" text_pattern_ops)'],
  ['inventory_import_source', 'inventory_import', `(("order" ->> 'source'), "id")`],
  ['webhook_delivery_given_up', 'webhook_delivery', `("endpoint_id", "id") WHERE status = 'GIVEN_UP'`],
];

/** Adds the indexes for the filters of lists. */
export class ListFilters1798000048800 implements MigrationInterface {
  name = 'ListFilters1798000048800';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const [name, table, columns] of INDEXES) await createIndexConcurrently(queryRunner, name, table, columns);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const [name] of INDEXES.toReversed()) await queryRunner.query(`DROP INDEX "${name}"`);
  }
}
