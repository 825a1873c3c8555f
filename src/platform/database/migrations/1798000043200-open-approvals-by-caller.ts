import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Adds an index on the pending approvals of a caller, which are counted before another is opened. */
export class OpenApprovalsByCaller1798000043200 implements MigrationInterface {
  name = 'OpenApprovalsByCaller1798000043200';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      queryRunner,
      'approval_open_by_caller',
      'approval',
      `("requested_by") WHERE status = 'PENDING'`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "approval_open_by_caller"`);
  }
}
