import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Hosts1795185632066 implements MigrationInterface {
  name = 'Hosts1795185632066';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "host_key" (
                "id" uuid NOT NULL,
                "host_id" uuid NOT NULL,
                "fingerprint" text NOT NULL,
                "type" text NOT NULL,
                "bits" integer,
                "blob" bytea NOT NULL,
                "state" text NOT NULL,
                "possession" text NOT NULL,
                "decided_by" text,
                "decided_at" TIMESTAMP WITH TIME ZONE,
                "first_seen" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "last_seen" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_b7530939af3bdded0ab17e28414" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "host_key_fingerprint" ON "host_key" ("fingerprint")
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "host_key_of_host" ON "host_key" ("host_id", "fingerprint")
        `);
    await queryRunner.query(`
            CREATE TABLE "host" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "address" text NOT NULL,
                "port" integer NOT NULL DEFAULT '22',
                "labels" jsonb NOT NULL DEFAULT '{}',
                "owner" text,
                "environment" text,
                "jump_host_id" uuid,
                "host_key_policy" text NOT NULL DEFAULT 'pinned',
                "management_mode" text NOT NULL DEFAULT 'inventory-only',
                "privilege" text NOT NULL DEFAULT 'none',
                "login_user" text,
                "credential_kind" text,
                "credential" bytea,
                "credential_fingerprint" text,
                "os" text,
                "ssh_version" text,
                "reachability" text NOT NULL DEFAULT 'unknown',
                "reachability_code" text,
                "checked_at" TIMESTAMP WITH TIME ZONE,
                "last_scan_id" uuid,
                "version" integer NOT NULL DEFAULT '1',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_44424c24c2f9b1d7bbf8721f4c4" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "host_jump_host" ON "host" ("jump_host_id")
        `);
    await queryRunner.query(`
            CREATE INDEX "host_address" ON "host" ("address", "port")
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "host_name" ON "host" ("name")
        `);
    await queryRunner.query(`CREATE INDEX "host_labels" ON "host" USING gin ("labels" jsonb_path_ops)`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."host_name"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."host_address"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."host_jump_host"
        `);
    await queryRunner.query(`
            DROP TABLE "host"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."host_key_of_host"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."host_key_fingerprint"
        `);
    await queryRunner.query(`
            DROP TABLE "host_key"
        `);
  }
}
