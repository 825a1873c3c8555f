import { MigrationInterface, QueryRunner } from 'typeorm';

export class ApprovalNotices1795188086656 implements MigrationInterface {
  name = 'ApprovalNotices1795188086656';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "approval_notice" (
                "id" uuid NOT NULL,
                "approval_id" uuid NOT NULL,
                "kind" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "told_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_82ba7e8b1c8f2419b08952a5340" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "approval_notice_waiting" ON "approval_notice" ("id")
            WHERE told_at IS NULL
        `);
    await queryRunner.query(`
            ALTER TABLE "approval"
            ADD "remind_at" TIMESTAMP WITH TIME ZONE
        `);
    await queryRunner.query(`
            CREATE INDEX "approval_reminding" ON "approval" ("remind_at")
            WHERE status = 'PENDING'
                AND remind_at IS NOT NULL
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."approval_reminding"
        `);
    await queryRunner.query(`
            ALTER TABLE "approval" DROP COLUMN "remind_at"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approval_notice_waiting"
        `);
    await queryRunner.query(`
            DROP TABLE "approval_notice"
        `);
  }
}
