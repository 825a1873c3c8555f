import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AssetAnnotations1795187524785 implements MigrationInterface {
  name = 'AssetAnnotations1795187524785';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "inventory_view" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "query" jsonb NOT NULL,
                "created_by" text NOT NULL,
                "version" integer NOT NULL DEFAULT '1',
                "changed_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "inventory_view_name" UNIQUE ("name"),
                CONSTRAINT "PK_74af8bb901a8e8fb2de2669f007" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            ALTER TABLE "asset"
            ADD "owner" text
        `);
    await queryRunner.query(`
            ALTER TABLE "asset"
            ADD "labels" text array NOT NULL DEFAULT '{}'
        `);
    await queryRunner.query(`
            ALTER TABLE "asset"
            ADD "version" integer NOT NULL DEFAULT '1'
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_owner" ON "asset" ("owner", "id")
            WHERE owner IS NOT NULL
        `);
    await queryRunner.query(`
            INSERT INTO inventory_tally (dimension, value, level, slot, count)
            SELECT 'owner', '', coalesce(level, -1), 0, count(*) FROM asset GROUP BY level
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DELETE FROM inventory_tally WHERE dimension = 'owner'
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_owner"
        `);
    await queryRunner.query(`
            ALTER TABLE "asset" DROP COLUMN "version"
        `);
    await queryRunner.query(`
            ALTER TABLE "asset" DROP COLUMN "labels"
        `);
    await queryRunner.query(`
            ALTER TABLE "asset" DROP COLUMN "owner"
        `);
    await queryRunner.query(`
            DROP TABLE "inventory_view"
        `);
  }
}
