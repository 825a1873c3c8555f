import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** A person who loses every role at their identity provider loses their API keys and unused tickets, which are found by the person. */
const INDEXES: readonly [name: string, table: string, columns: string][] = [
  ['api_key_owner', 'api_key', '("owner_id", "id")'],
  ['sso_transaction_user', 'sso_transaction', '("user_id") WHERE user_id IS NOT NULL'],
];

/** Adds the indexes by which the credentials of a person are found. */
export class FoundByPerson1798000043301 implements MigrationInterface {
  name = 'FoundByPerson1798000043301';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const [name, table, columns] of INDEXES) await createIndexConcurrently(queryRunner, name, table, columns);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const [name] of INDEXES.toReversed()) await queryRunner.query(`DROP INDEX "${name}"`);
  }
}
