import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Documents that are taken in later, as jobs. */
export class InventoryImports1796400000002 implements MigrationInterface {
  name = 'InventoryImports1796400000002';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "inventory_import" (
                "id" uuid NOT NULL,
                "status" text NOT NULL DEFAULT 'WAITING',
                "bytes" integer NOT NULL,
                "order" jsonb NOT NULL,
                "owner_id" text NOT NULL,
                "phase" text,
                "done" integer NOT NULL DEFAULT '0',
                "total" integer NOT NULL DEFAULT '0',
                "attempts" integer NOT NULL DEFAULT '0',
                "lease_until" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "outcome" jsonb,
                "problem" jsonb,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "started_at" TIMESTAMP WITH TIME ZONE,
                "ended_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_b676f0683aff731c34913764d8f" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "inventory_import_open" ON "inventory_import" ("id")
            WHERE ended_at IS NULL
        `);
    await queryRunner.query(`
            CREATE TABLE "inventory_import_part" (
                "import_id" uuid NOT NULL,
                "number" integer NOT NULL,
                "sealed" bytea NOT NULL,
                CONSTRAINT "PK_db3d6288430e2bccbcfbd2e0bea" PRIMARY KEY ("import_id", "number")
            )
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP TABLE "inventory_import_part"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."inventory_import_open"
        `);
    await queryRunner.query(`
            DROP TABLE "inventory_import"
        `);
  }
}
