import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Certificates of an authority are listed, newest first. */
export class IssuedCertificates1796700000001 implements MigrationInterface {
  name = 'IssuedCertificates1796700000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE INDEX "ssh_certificate_newest" ON "ssh_certificate" ("authority_id", "id")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."ssh_certificate_newest"
        `);
  }
}
