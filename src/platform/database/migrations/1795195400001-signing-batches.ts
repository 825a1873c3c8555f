import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SigningBatches1795195400001 implements MigrationInterface {
  name = 'SigningBatches1795195400001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "signing_batch" (
                "id" uuid NOT NULL,
                "size" integer NOT NULL,
                "refused" jsonb,
                "owner_id" text NOT NULL,
                "requested_by" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_404b40f12082b56fca9baa170e8" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request"
            ADD "batch_id" uuid
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request"
            ADD "batch_index" integer
        `);
    await queryRunner.query(`
            CREATE INDEX "signing_request_batch" ON "signing_request" ("batch_id")
            WHERE batch_id IS NOT NULL
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."signing_request_batch"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request" DROP COLUMN "batch_index"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request" DROP COLUMN "batch_id"
        `);
    await queryRunner.query(`
            DROP TABLE "signing_batch"
        `);
  }
}
