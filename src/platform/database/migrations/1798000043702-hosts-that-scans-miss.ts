import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Adds what the last deep scan of a host could not read, and the permission to use SHA-1 and CBC for logins to it. */
export class HostsThatScansMiss1798000043702 implements MigrationInterface {
  name = 'HostsThatScansMiss1798000043702';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `ALTER TABLE "host" ADD IF NOT EXISTS "scan_gap" jsonb, ADD IF NOT EXISTS "legacy_algorithms" boolean NOT NULL DEFAULT false`,
    );
    await createIndexConcurrently(queryRunner, 'host_scan_gap', 'host', '("name") WHERE scan_gap IS NOT NULL');
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "host_scan_gap"`);
    await queryRunner.query(`ALTER TABLE "host" DROP COLUMN "scan_gap", DROP COLUMN "legacy_algorithms"`);
  }
}
