import type { MigrationInterface, QueryRunner } from 'typeorm';

export class KeyDestruction1796200000000 implements MigrationInterface {
  name = 'KeyDestruction1796200000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "signing_key_destruction" (
                "key_id" uuid NOT NULL,
                "destroy_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "worker" uuid,
                "lease_until" TIMESTAMP WITH TIME ZONE,
                "attempt" integer NOT NULL DEFAULT '0',
                "finished_at" TIMESTAMP WITH TIME ZONE,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_17f47cab2ee54a43cdeac00e925" PRIMARY KEY ("key_id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "signing_key_destruction_due" ON "signing_key_destruction" ("destroy_at")
            WHERE finished_at IS NULL
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key_version"
            ADD "destroyed_at" TIMESTAMP WITH TIME ZONE
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "signing_key_version" DROP COLUMN "destroyed_at"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."signing_key_destruction_due"
        `);
    await queryRunner.query(`
            DROP TABLE "signing_key_destruction"
        `);
  }
}
