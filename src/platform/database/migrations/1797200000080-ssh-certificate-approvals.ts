import type { MigrationInterface, QueryRunner } from 'typeorm';

/** SSH certificates can wait for approval. Rows of the version before are READY; it cannot sign a row that is not (CHECK). */
export class SshCertificateApprovals1797200000080 implements MigrationInterface {
  name = 'SshCertificateApprovals1797200000080';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "ssh_certificate"
            ADD "status" text NOT NULL DEFAULT 'READY',
            ADD "request" jsonb,
            ADD "approval_id" uuid,
            ADD "failure_code" text,
            ADD "failure_detail" text
        `);
    await queryRunner.query(`
            ALTER TABLE "ssh_certificate"
            ADD CONSTRAINT "ssh_certificate_ready" CHECK (certificate IS NULL OR status = 'READY')
        `);
    await queryRunner.query(`
            CREATE INDEX "ssh_certificate_unsigned" ON "ssh_certificate" ("created_at")
            WHERE certificate IS NULL AND status = 'READY' AND request IS NOT NULL
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."ssh_certificate_unsigned"
        `);
    await queryRunner.query(`
            ALTER TABLE "ssh_certificate" DROP CONSTRAINT "ssh_certificate_ready"
        `);
    await queryRunner.query(`
            ALTER TABLE "ssh_certificate"
            DROP COLUMN "status",
            DROP COLUMN "request",
            DROP COLUMN "approval_id",
            DROP COLUMN "failure_code",
            DROP COLUMN "failure_detail"
        `);
  }
}
