import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Discovery1795185711114 implements MigrationInterface {
  name = 'Discovery1795185711114';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "scan_scope" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "networks" text array NOT NULL,
                "names" text array NOT NULL,
                "ports" integer array NOT NULL,
                "created_by" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_901a442c5036ff2f587e26079d9" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "scan_scope_name" ON "scan_scope" ("name")
        `);
    await queryRunner.query(`
            CREATE TABLE "scan" (
                "id" uuid NOT NULL,
                "kind" text NOT NULL,
                "status" text NOT NULL,
                "scope_id" uuid,
                "targets" text array NOT NULL,
                "ports" integer array NOT NULL,
                "total" integer NOT NULL,
                "cursor" integer NOT NULL DEFAULT '0',
                "attempt" integer NOT NULL DEFAULT '0',
                "worker" uuid,
                "sweep_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "failure_code" text,
                "requested_by" text NOT NULL,
                "correlation" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "started_at" TIMESTAMP WITH TIME ZONE,
                "finished_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_9868a638d0569ba3fe3bddcef84" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "scan_due" ON "scan" ("sweep_at") WHERE status IN ('QUEUED', 'RUNNING')
        `);
    await queryRunner.query(`
            CREATE INDEX "scan_scope_of" ON "scan" ("scope_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "scan_result" (
                "id" uuid NOT NULL,
                "scan_id" uuid NOT NULL,
                "target" text NOT NULL,
                "address" text,
                "port" integer NOT NULL,
                "protocol" text NOT NULL,
                "outcome" text NOT NULL,
                "facts" jsonb,
                "host_id" uuid,
                "reused" boolean NOT NULL DEFAULT false,
                "at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_e0a734b61b7129a38d5565f25d2" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "scan_result_place" ON "scan_result" ("scan_id", "target", "port")
        `);
    await queryRunner.query(`
            CREATE INDEX "scan_result_pending" ON "scan_result" ("scan_id", "id") WHERE outcome = 'PENDING'
        `);
    await queryRunner.query(`
            CREATE INDEX "scan_result_latest" ON "scan_result" ("address", "port", "protocol", "id")
        `);
    await queryRunner.query(`
            CREATE TABLE "probe_window" (
                "address" text NOT NULL,
                "port" integer NOT NULL,
                "until" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "PK_747263d12abf6983f5d94b57c4e" PRIMARY KEY ("address", "port")
            )
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "probe_window"`);
    await queryRunner.query(`DROP TABLE "scan_result"`);
    await queryRunner.query(`DROP TABLE "scan"`);
    await queryRunner.query(`DROP TABLE "scan_scope"`);
  }
}
