import { MigrationInterface, QueryRunner } from 'typeorm';

export class Inventory1763640000000 implements MigrationInterface {
  name = 'Inventory1763640000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "inventory_tally" (
                "dimension" text NOT NULL,
                "value" text NOT NULL,
                "level" smallint NOT NULL,
                "slot" smallint NOT NULL,
                "count" bigint NOT NULL,
                CONSTRAINT "PK_3b26c5a384145c14256c7743af1" PRIMARY KEY ("dimension", "value", "level", "slot")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "asset_occurrence" (
                "asset_id" uuid NOT NULL,
                "source_id" uuid NOT NULL,
                "id" uuid NOT NULL,
                "location" text NOT NULL,
                "line" integer,
                "position" integer,
                "symbol" text,
                "context" text,
                "first_seen" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "last_seen" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "missed" integer NOT NULL DEFAULT '0',
                CONSTRAINT "PK_bb48c54c7bb073cc75743c632ba" PRIMARY KEY ("asset_id", "source_id", "id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_occurrence_source" ON "asset_occurrence" ("source_id", "asset_id", "id")
        `);
    await queryRunner.query(`
            CREATE TABLE "asset" (
                "id" uuid NOT NULL,
                "kind" text NOT NULL,
                "name" text NOT NULL,
                "family" text,
                "bits" integer,
                "level" smallint,
                "quantum" text,
                "classical" text,
                "rule" text,
                "deadline" date,
                "verdict_id" uuid,
                "resolved_by" jsonb,
                "not_before" TIMESTAMP WITH TIME ZONE,
                "not_after" TIMESTAMP WITH TIME ZONE,
                "component" jsonb NOT NULL,
                "content" uuid NOT NULL,
                "state" text NOT NULL DEFAULT 'active',
                "first_seen" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "changed_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_1209d107fe21482beaea51b745e" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_not_after" ON "asset" ("not_after", "id")
            WHERE not_after IS NOT NULL
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_verdict" ON "asset" ("verdict_id")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_name" ON "asset" ("name", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_family" ON "asset" ("family", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_level" ON "asset" ("level", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_kind" ON "asset" ("kind", "id")
        `);
    await queryRunner.query(`
            CREATE TABLE "inventory_document" (
                "id" uuid NOT NULL,
                "source_id" uuid NOT NULL,
                "digest" bytea NOT NULL,
                "format" text NOT NULL,
                "serial_number" text,
                "version" bigint,
                "document_time" TIMESTAMP WITH TIME ZONE,
                "received_from" text NOT NULL,
                "received_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "outcome" jsonb NOT NULL,
                CONSTRAINT "inventory_document_digest" UNIQUE ("source_id", "digest"),
                CONSTRAINT "PK_ac1031a9d1e06b867f554b593af" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "inventory_document_serial" ON "inventory_document" ("serial_number", "version")
        `);
    await queryRunner.query(`
            CREATE TABLE "inventory_source" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "document_id" uuid,
                "document_time" TIMESTAMP WITH TIME ZONE,
                "first_seen" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "last_seen" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_8047e0dd956d39226abacf355f5" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "asset_relationship" (
                "from_id" uuid NOT NULL,
                "kind" text NOT NULL,
                "to_id" uuid NOT NULL,
                "source_id" uuid NOT NULL,
                "first_seen" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_0fdc11d27f503906b90be4a9119" PRIMARY KEY ("from_id", "kind", "to_id", "source_id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_relationship_source" ON "asset_relationship" ("source_id")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_relationship_to" ON "asset_relationship" ("to_id", "kind", "from_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "risk_verdict" (
                "id" uuid NOT NULL,
                "subject" jsonb NOT NULL,
                "verdict" jsonb NOT NULL,
                "rules" text NOT NULL,
                CONSTRAINT "PK_011c0e9d5503b7842c0acccbb5c" PRIMARY KEY ("id")
            )
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP TABLE "risk_verdict"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_relationship_to"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_relationship_source"
        `);
    await queryRunner.query(`
            DROP TABLE "asset_relationship"
        `);
    await queryRunner.query(`
            DROP TABLE "inventory_source"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."inventory_document_serial"
        `);
    await queryRunner.query(`
            DROP TABLE "inventory_document"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_kind"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_level"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_family"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_name"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_verdict"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_not_after"
        `);
    await queryRunner.query(`
            DROP TABLE "asset"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_occurrence_source"
        `);
    await queryRunner.query(`
            DROP TABLE "asset_occurrence"
        `);
    await queryRunner.query(`
            DROP TABLE "inventory_tally"
        `);
  }
}
