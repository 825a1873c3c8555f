import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/**
 * Adds the checks of the new key during the overlap, and the request of a person to write its line again. Earlier versions go by `due_at` alone, which
 * stays the end of the overlap.
 */
export class RotationOverlapChecks1798000043701 implements MigrationInterface {
  name = 'RotationOverlapChecks1798000043701';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `ALTER TABLE "ssh_rotation_target" ADD IF NOT EXISTS "check_at" timestamptz, ADD IF NOT EXISTS "overlap_ends_at" timestamptz,
       ADD IF NOT EXISTS "restore_next" boolean`,
    );
    await createIndexConcurrently(
      queryRunner,
      'ssh_rotation_target_check',
      'ssh_rotation_target',
      `("check_at") WHERE outcome = 'OPEN' AND check_at IS NOT NULL`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "ssh_rotation_target_check"`);
    await queryRunner.query(
      `ALTER TABLE "ssh_rotation_target" DROP COLUMN "check_at", DROP COLUMN "overlap_ends_at", DROP COLUMN "restore_next"`,
    );
  }
}
