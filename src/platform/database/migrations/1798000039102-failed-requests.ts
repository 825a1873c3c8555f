import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Requests that failed are few among many: without an index of their own, to list them reads all. */
export class FailedRequests1798000039102 implements MigrationInterface {
  name = 'FailedRequests1798000039102';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    const failed = `WHERE status = 'FAILED'`;
    await createIndexConcurrently(queryRunner, 'signing_request_failed', 'signing_request', `("id") ${failed}`);
    await createIndexConcurrently(
      queryRunner,
      'signing_request_owner_failed',
      'signing_request',
      `("owner_id", "id") ${failed}`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "signing_request_owner_failed"`);
    await queryRunner.query(`DROP INDEX "signing_request_failed"`);
  }
}
