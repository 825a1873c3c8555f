import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How the inventory stood at the end of each day, and how many assets each source shows. */
export class InventoryOverTime1796400000001 implements MigrationInterface {
  name = 'InventoryOverTime1796400000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "inventory_snapshot" (
                "day" date NOT NULL,
                "taken_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "demo" boolean NOT NULL DEFAULT false,
                "summary" jsonb NOT NULL,
                "counts" jsonb NOT NULL,
                CONSTRAINT "PK_8d3891fca537c865b5f18de736e" PRIMARY KEY ("day")
            )
        `);
    await queryRunner.query(`
            CREATE FUNCTION inventory_snapshot_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF TG_OP = 'DELETE' AND OLD.demo THEN RETURN OLD; END IF;
                RAISE EXCEPTION 'a snapshot of the inventory never changes';
            END $$
        `);
    await queryRunner.query(`
            CREATE TRIGGER inventory_snapshot_is_final BEFORE UPDATE OR DELETE ON "inventory_snapshot"
            FOR EACH ROW EXECUTE FUNCTION inventory_snapshot_is_final()
        `);
    await queryRunner.query(`
            CREATE TABLE "inventory_source_count" (
                "source_id" uuid NOT NULL,
                "total" integer NOT NULL,
                "levels" integer array NOT NULL,
                "unjudged" integer NOT NULL,
                "counted_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_9fbb2cca50b06cb8c7ef169fc17" PRIMARY KEY ("source_id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "inventory_source_count_total" ON "inventory_source_count" ("total", "source_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "inventory_recount" (
                "id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
                "source_id" uuid NOT NULL,
                CONSTRAINT "PK_803685e49cc262cbebe89fc3eee" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            INSERT INTO inventory_recount (source_id) SELECT id FROM inventory_source
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP TABLE "inventory_recount"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."inventory_source_count_total"
        `);
    await queryRunner.query(`
            DROP TABLE "inventory_source_count"
        `);
    await queryRunner.query(`
            DROP TABLE "inventory_snapshot"
        `);
    await queryRunner.query(`
            DROP FUNCTION inventory_snapshot_is_final()
        `);
  }
}
