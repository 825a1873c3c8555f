import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which certificate a host renewed. The version before leaves the column empty, and renews nothing. */
export class SshHostRenewals1798000042300 implements MigrationInterface {
  name = 'SshHostRenewals1798000042300';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "ssh_certificate" ADD "renews" uuid`);
    await queryRunner.query(
      `CREATE UNIQUE INDEX "ssh_certificate_renewed" ON "ssh_certificate" ("renews") WHERE renews IS NOT NULL`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "ssh_certificate_renewed"`);
    await queryRunner.query(`ALTER TABLE "ssh_certificate" DROP COLUMN "renews"`);
  }
}
