import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Which certificate a host renewed. The version before leaves the column empty, and renews nothing. */
export class SshHostRenewals1798000042300 implements MigrationInterface {
  name = 'SshHostRenewals1798000042300';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    // Made again after a failure below.
    await queryRunner.query(`ALTER TABLE "ssh_certificate" ADD COLUMN IF NOT EXISTS "renews" uuid`);
    const renewed = `("renews") WHERE renews IS NOT NULL`;
    await createIndexConcurrently(queryRunner, 'ssh_certificate_renewed', 'ssh_certificate', renewed, 'UNIQUE INDEX');
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "ssh_certificate_renewed"`);
    await queryRunner.query(`ALTER TABLE "ssh_certificate" DROP COLUMN "renews"`);
  }
}
