import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Webhooks1795190100001 implements MigrationInterface {
  name = 'Webhooks1795190100001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "webhook_delivery" (
                "id" uuid NOT NULL,
                "endpoint_id" uuid NOT NULL,
                "type" text NOT NULL,
                "body" text NOT NULL,
                "status" text NOT NULL DEFAULT 'PENDING',
                "attempts" integer NOT NULL DEFAULT '0',
                "tries" integer NOT NULL DEFAULT '0',
                "next_try_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "ended_at" TIMESTAMP WITH TIME ZONE,
                "log" jsonb NOT NULL DEFAULT '[]',
                CONSTRAINT "PK_b1ae290239a778f12399db91354" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "webhook_delivery_of_endpoint" ON "webhook_delivery" ("endpoint_id", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "webhook_delivery_waiting" ON "webhook_delivery" ("endpoint_id", "next_try_at")
            WHERE status = 'PENDING'
        `);
    await queryRunner.query(`
            CREATE TABLE "webhook_endpoint" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "format" text NOT NULL,
                "shown_url" text NOT NULL,
                "url" bytea NOT NULL,
                "secret" bytea,
                "old_secret" bytea,
                "old_secret_until" TIMESTAMP WITH TIME ZONE,
                "events" text array NOT NULL,
                "enabled" boolean NOT NULL DEFAULT true,
                "disabled_reason" text,
                "version" integer NOT NULL DEFAULT '1',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_6c98112122b2b8a4f3984d2efa8" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "webhook_endpoint_name" ON "webhook_endpoint" ("name")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."webhook_endpoint_name"
        `);
    await queryRunner.query(`
            DROP TABLE "webhook_endpoint"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."webhook_delivery_waiting"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."webhook_delivery_of_endpoint"
        `);
    await queryRunner.query(`
            DROP TABLE "webhook_delivery"
        `);
  }
}
