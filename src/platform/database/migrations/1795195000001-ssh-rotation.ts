import { MigrationInterface, QueryRunner } from 'typeorm';

export class SshRotation1795195000001 implements MigrationInterface {
  name = 'SshRotation1795195000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "ssh_key_secret" (
                "key_id" uuid NOT NULL,
                "sealed" bytea,
                "cka_id" bytea,
                CONSTRAINT "PK_f8a2e5b2bd0d696eea0f03b8122" PRIMARY KEY ("key_id")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "ssh_rotation_step" (
                "id" uuid NOT NULL,
                "target_id" uuid NOT NULL,
                "fence" integer NOT NULL,
                "step" text NOT NULL,
                "outcome" text NOT NULL DEFAULT 'STARTED',
                "detail" jsonb NOT NULL DEFAULT '{}',
                "started_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "ended_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_5c0590c9bb441b90612f18a1206" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "ssh_rotation_step_target" ON "ssh_rotation_step" ("target_id", "id")
        `);
    await queryRunner.query(`
            CREATE TABLE "ssh_rotation_target" (
                "id" uuid NOT NULL,
                "rotation_id" uuid NOT NULL,
                "host_id" uuid NOT NULL,
                "account" text NOT NULL,
                "wave" integer NOT NULL,
                "state" text NOT NULL DEFAULT 'PLANNED',
                "outcome" text NOT NULL DEFAULT 'OPEN',
                "fence" integer NOT NULL DEFAULT '0',
                "worker" uuid,
                "lease_until" TIMESTAMP WITH TIME ZONE,
                "due_at" TIMESTAMP WITH TIME ZONE,
                "strikes" integer NOT NULL DEFAULT '0',
                "plan" jsonb,
                "snapshot" bytea,
                "old_ends_at" TIMESTAMP WITH TIME ZONE,
                "verified_at" TIMESTAMP WITH TIME ZONE,
                "failure_code" text,
                "failure_detail" text,
                "finished_at" TIMESTAMP WITH TIME ZONE,
                "drifted_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_95f72acf51412231f962a4af992" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "ssh_rotation_target_host" ON "ssh_rotation_target" ("host_id", "account")
        `);
    await queryRunner.query(`
            CREATE INDEX "ssh_rotation_target_due" ON "ssh_rotation_target" ("due_at")
            WHERE outcome = 'OPEN'
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "ssh_rotation_target_account" ON "ssh_rotation_target" ("rotation_id", "host_id", "account")
        `);
    await queryRunner.query(`
            CREATE TABLE "ssh_rotation" (
                "id" uuid NOT NULL,
                "key_id" uuid NOT NULL,
                "next_key_id" uuid,
                "custody" text NOT NULL,
                "dry_run" boolean NOT NULL DEFAULT false,
                "status" text NOT NULL,
                "settings" jsonb NOT NULL,
                "wave" integer NOT NULL DEFAULT '0',
                "requested_by" jsonb NOT NULL,
                "owner_id" text NOT NULL,
                "correlation" text NOT NULL,
                "approval_id" uuid,
                "promoted_at" TIMESTAMP WITH TIME ZONE,
                "confirmed_at" TIMESTAMP WITH TIME ZONE,
                "failure_code" text,
                "failure_detail" text,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "finished_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_c7bb407b273ae501e990b89618b" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "ssh_rotation_open" ON "ssh_rotation" ("status")
            WHERE finished_at IS NULL
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "ssh_rotation_one_per_key" ON "ssh_rotation" ("key_id")
            WHERE finished_at IS NULL
                AND NOT dry_run
        `);
    await queryRunner.query(`
            CREATE INDEX "ssh_rotation_key" ON "ssh_rotation" ("key_id")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."ssh_rotation_key"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_rotation_one_per_key"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_rotation_open"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_rotation"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_rotation_target_account"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_rotation_target_due"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_rotation_target_host"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_rotation_target"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_rotation_step_target"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_rotation_step"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_key_secret"
        `);
  }
}
