import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Keys that end soon are looked for every few seconds: without an index that reads every key that ever was. */
export class ExpiringKeys1798000039103 implements MigrationInterface {
  name = 'ExpiringKeys1798000039103';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    const inUse = 'WHERE revoked_at IS NULL AND replaced_by IS NULL';
    await createIndexConcurrently(queryRunner, 'api_key_expiring', 'api_key', `("expiry") ${inUse}`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "api_key_expiring"`);
  }
}
