import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Sensors1795190100003 implements MigrationInterface {
  name = 'Sensors1795190100003';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "schedule_run" (
                "id" uuid NOT NULL,
                "schedule_id" uuid NOT NULL,
                "due_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "trigger" text NOT NULL,
                "status" text NOT NULL DEFAULT 'DUE',
                "detail" text,
                "missed" integer NOT NULL DEFAULT '0',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "started_at" TIMESTAMP WITH TIME ZONE,
                "ended_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "schedule_run_due" UNIQUE ("schedule_id", "due_at"),
                CONSTRAINT "PK_bc6d25bc1a55e78bc06d3a4e2c6" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "schedule_run_open" ON "schedule_run" ("status", "id")
            WHERE status IN ('DUE', 'RUNNING')
        `);
    await queryRunner.query(`
            CREATE TABLE "schedule" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "cron" text,
                "interval_seconds" integer,
                "time_zone" text NOT NULL DEFAULT 'UTC',
                "target" text NOT NULL,
                "settings" jsonb NOT NULL DEFAULT '{}',
                "missed" text NOT NULL DEFAULT 'once',
                "timeout_minutes" integer NOT NULL DEFAULT '1440',
                "enabled" boolean NOT NULL DEFAULT true,
                "next_due_at" TIMESTAMP WITH TIME ZONE,
                "made_by" text NOT NULL,
                "version" integer NOT NULL DEFAULT '1',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_1c05e42aec7371641193e180046" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "schedule_name" ON "schedule" ("name")
        `);
    await queryRunner.query(`
            CREATE INDEX "schedule_due" ON "schedule" ("next_due_at")
            WHERE enabled
        `);
    await queryRunner.query(`
            CREATE TABLE "sensor_command" (
                "id" uuid NOT NULL,
                "sensor_id" uuid NOT NULL,
                "run_id" uuid,
                "settings" jsonb NOT NULL DEFAULT '{}',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "taken_at" TIMESTAMP WITH TIME ZONE,
                "ended_at" TIMESTAMP WITH TIME ZONE,
                "ok" boolean,
                "detail" text,
                CONSTRAINT "PK_90cfc18c160d2db447d107e5ef5" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "sensor_command_open" ON "sensor_command" ("sensor_id", "id")
            WHERE ended_at IS NULL
        `);
    await queryRunner.query(`
            CREATE TABLE "sensor" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "kind" text NOT NULL,
                "configuration" jsonb NOT NULL DEFAULT '{}',
                "heartbeat_seconds" integer NOT NULL DEFAULT '60',
                "api_key_id" uuid NOT NULL,
                "old_api_key_id" uuid,
                "enabled" boolean NOT NULL DEFAULT true,
                "software_version" text,
                "last_heartbeat_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "last_address" text,
                "last_scan_at" TIMESTAMP WITH TIME ZONE,
                "last_scan_assets" integer,
                "last_error" text,
                "last_error_at" TIMESTAMP WITH TIME ZONE,
                "silent_since" TIMESTAMP WITH TIME ZONE,
                "version" integer NOT NULL DEFAULT '1',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_ccc38b9aa8b3e198b6503d5eee9" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "sensor_name" ON "sensor" ("name")
        `);
    await queryRunner.query(`
            CREATE INDEX "sensor_api_key" ON "sensor" ("api_key_id")
        `);
    await queryRunner.query(`
            CREATE INDEX "sensor_awaited" ON "sensor" ("last_heartbeat_at")
            WHERE enabled
                AND silent_since IS NULL
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."sensor_awaited"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."sensor_api_key"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."sensor_name"
        `);
    await queryRunner.query(`
            DROP TABLE "sensor"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."sensor_command_open"
        `);
    await queryRunner.query(`
            DROP TABLE "sensor_command"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."schedule_due"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."schedule_name"
        `);
    await queryRunner.query(`
            DROP TABLE "schedule"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."schedule_run_open"
        `);
    await queryRunner.query(`
            DROP TABLE "schedule_run"
        `);
  }
}
