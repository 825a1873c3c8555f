import { MigrationInterface, QueryRunner } from 'typeorm';

export class SshKeys1795180500001 implements MigrationInterface {
  name = 'SshKeys1795180500001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "ssh_key_finding" (
                "id" uuid NOT NULL,
                "key_id" uuid NOT NULL,
                "rule" text NOT NULL,
                "severity" text NOT NULL,
                "location_id" uuid,
                "detail" text NOT NULL,
                CONSTRAINT "PK_edceb46baeb5b803c3f13955761" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "ssh_key_finding_key" ON "ssh_key_finding" ("key_id")
        `);
    await queryRunner.query(`
            CREATE INDEX "ssh_key_finding_rule" ON "ssh_key_finding" ("rule", "key_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "ssh_key_location" (
                "id" uuid NOT NULL,
                "key_id" uuid NOT NULL,
                "host_id" uuid NOT NULL,
                "kind" text NOT NULL,
                "account" text NOT NULL,
                "uid" integer,
                "path" text NOT NULL,
                "line" integer,
                "occurrence" integer NOT NULL DEFAULT '1',
                "options" text,
                "comment" text,
                "passphrase" boolean,
                "modified_at" TIMESTAMP WITH TIME ZONE,
                "first_seen" TIMESTAMP WITH TIME ZONE NOT NULL,
                "last_seen" TIMESTAMP WITH TIME ZONE NOT NULL,
                "gone_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_9df4ca220a0d19e7ab5486d95b5" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "ssh_key_location_key" ON "ssh_key_location" ("key_id")
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "ssh_key_location_place" ON "ssh_key_location" (
                "host_id",
                "path",
                "kind",
                "account",
                "key_id",
                "occurrence"
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "ssh_key_login" (
                "key_id" uuid NOT NULL,
                "host_id" uuid NOT NULL,
                "account" text NOT NULL,
                "at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "source" text NOT NULL,
                "evidence" text NOT NULL,
                CONSTRAINT "PK_e7958929f74f12128cc39c5b876" PRIMARY KEY ("key_id", "host_id", "account")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "ssh_key" (
                "id" uuid NOT NULL,
                "fingerprint" text NOT NULL,
                "type" text NOT NULL,
                "bits" integer,
                "blob" bytea,
                "comment" text,
                "owner" text,
                "custody" text NOT NULL DEFAULT 'unknown',
                "state" text NOT NULL DEFAULT 'ACTIVE',
                "replaced_by" uuid,
                "known_since" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "last_seen" TIMESTAMP WITH TIME ZONE,
                "version" integer NOT NULL DEFAULT '1',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_a8151d9d1fd8357c7a33fa2b342" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "ssh_key_fingerprint" ON "ssh_key" ("fingerprint")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."ssh_key_fingerprint"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_key"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_key_login"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_key_location_place"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_key_location_key"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_key_location"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_key_finding_rule"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_key_finding_key"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_key_finding"
        `);
  }
}
