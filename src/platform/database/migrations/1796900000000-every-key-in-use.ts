import type { MigrationInterface, QueryRunner } from 'typeorm';

/** All keys of a sensor and all secrets of a webhook endpoint that may be in use; until now only the newest and the one before it. */
export class EveryKeyInUse1796900000000 implements MigrationInterface {
  name = 'EveryKeyInUse1796900000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."sensor_api_key"
        `);
    await queryRunner.query(`
            CREATE TABLE "sensor_api_key" (
                "api_key_id" uuid NOT NULL,
                "sensor_id" uuid NOT NULL,
                CONSTRAINT "sensor_api_key_id" PRIMARY KEY ("api_key_id")
            )
        `);
    // Those that were replaced lead by their successors to the one that is known.
    await queryRunner.query(`
            WITH RECURSIVE known("api_key_id", "sensor_id") AS (
                SELECT "api_key_id", "id" FROM "sensor"
                UNION
                SELECT "old_api_key_id", "id" FROM "sensor" WHERE "old_api_key_id" IS NOT NULL
                UNION
                SELECT k."id", known."sensor_id" FROM "api_key" k JOIN known ON k."replaced_by" = known."api_key_id"
            )
            INSERT INTO "sensor_api_key" SELECT DISTINCT ON ("api_key_id") * FROM known ORDER BY "api_key_id"
        `);
    await queryRunner.query(`
            CREATE INDEX "sensor_api_key_sensor" ON "sensor_api_key" ("sensor_id")
        `);
    await queryRunner.query(`
            ALTER TABLE "sensor" DROP COLUMN "old_api_key_id"
        `);
    await queryRunner.query(`
            CREATE TABLE "webhook_old_secret" (
                "id" uuid NOT NULL,
                "endpoint_id" uuid NOT NULL,
                "secret" bytea NOT NULL,
                "until" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "webhook_old_secret_id" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "webhook_old_secret_endpoint" ON "webhook_old_secret" ("endpoint_id")
        `);
    await queryRunner.query(`
            INSERT INTO "webhook_old_secret"
            SELECT gen_random_uuid(), "id", "old_secret", "old_secret_until" FROM "webhook_endpoint"
            WHERE "old_secret" IS NOT NULL AND "old_secret_until" > now()
        `);
    await queryRunner.query(`
            ALTER TABLE "webhook_endpoint" DROP COLUMN "old_secret", DROP COLUMN "old_secret_until"
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "webhook_endpoint" ADD "old_secret" bytea, ADD "old_secret_until" TIMESTAMP WITH TIME ZONE
        `);
    await queryRunner.query(`
            UPDATE "webhook_endpoint" SET "old_secret" = o."secret", "old_secret_until" = o."until"
            FROM (SELECT DISTINCT ON ("endpoint_id") * FROM "webhook_old_secret" ORDER BY "endpoint_id", "until" DESC) o
            WHERE o."endpoint_id" = "webhook_endpoint"."id"
        `);
    await queryRunner.query(`
            DROP TABLE "webhook_old_secret"
        `);
    await queryRunner.query(`
            ALTER TABLE "sensor" ADD "old_api_key_id" uuid
        `);
    await queryRunner.query(`
            UPDATE "sensor" SET "old_api_key_id" = k."id" FROM "api_key" k WHERE k."replaced_by" = "sensor"."api_key_id"
        `);
    await queryRunner.query(`
            DROP TABLE "sensor_api_key"
        `);
    await queryRunner.query(`
            CREATE INDEX "sensor_api_key" ON "sensor" ("api_key_id")
        `);
  }
}
