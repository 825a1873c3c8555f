import type { MigrationInterface, QueryRunner } from 'typeorm';

export class BatchApprovals1796300000000 implements MigrationInterface {
  name = 'BatchApprovals1796300000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "approval_item" (
                "approval_id" uuid NOT NULL,
                "subject_id" uuid NOT NULL,
                CONSTRAINT "PK_ae3871221087812f74a9497badd" PRIMARY KEY ("approval_id", "subject_id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "approval_item_subject" ON "approval_item" ("subject_id")
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approval_one_pending"
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "approval_one_pending" ON "approval" ("subject_kind", "subject_id")
            WHERE status = 'PENDING' AND subject_kind <> 'signing-batch'
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."approval_one_pending"
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "approval_one_pending" ON "approval" ("subject_kind", "subject_id")
            WHERE status = 'PENDING'
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approval_item_subject"
        `);
    await queryRunner.query(`
            DROP TABLE "approval_item"
        `);
  }
}
