import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** What belongs to somebody is found by whom it belongs to: commands of a sensor, imports of a caller, requests that wait for an approval. */
const INDEXES: readonly [name: string, table: string, columns: string][] = [
  ['sensor_command_sensor', 'sensor_command', '("sensor_id")'],
  ['inventory_import_owner', 'inventory_import', '("owner_id", "id")'],
  ['signing_request_approval', 'signing_request', `("approval_id") WHERE status = 'PENDING_APPROVAL'`],
];

export class FoundByWhoseTheyAre1798000042600 implements MigrationInterface {
  name = 'FoundByWhoseTheyAre1798000042600';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const [name, table, columns] of INDEXES) await createIndexConcurrently(queryRunner, name, table, columns);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const [name] of INDEXES.toReversed()) await queryRunner.query(`DROP INDEX "${name}"`);
  }
}
