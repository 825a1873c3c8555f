import type { MigrationInterface, QueryRunner } from 'typeorm';

export class KeyConstraints1795185203841 implements MigrationInterface {
  name = 'KeyConstraints1795185203841';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "signing_key_usage" (
                "key_id" uuid NOT NULL,
                "period" text NOT NULL,
                "used" integer NOT NULL,
                "most" integer NOT NULL,
                CONSTRAINT "PK_e428e1d1316e7950a40ed5fe621" PRIMARY KEY ("key_id", "period")
            )
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key"
            ADD "constraints" jsonb NOT NULL DEFAULT '{}'
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key"
            ADD "revision" integer NOT NULL DEFAULT '1'
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request"
            ADD "composed" boolean NOT NULL DEFAULT false
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "signing_request" DROP COLUMN "composed"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key" DROP COLUMN "revision"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key" DROP COLUMN "constraints"
        `);
    await queryRunner.query(`
            DROP TABLE "signing_key_usage"
        `);
  }
}
