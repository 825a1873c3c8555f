import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Adds an index over the calls of refused and failed entries, which are few: entries of signatures are not written to it. */
export class AuditEntriesByCall1798000043600 implements MigrationInterface {
  name = 'AuditEntriesByCall1798000043600';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      queryRunner,
      'audit_entry_correlation',
      'audit_entry',
      `("correlation", "at") WHERE outcome <> 'done'`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "audit_entry_correlation"`);
  }
}
