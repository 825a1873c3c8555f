import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Components are kept as the text that exports send; a source remembers what it said last. */
export class InventoryStorage1796400000000 implements MigrationInterface {
  name = 'InventoryStorage1796400000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "asset" ALTER COLUMN "component" TYPE json USING "component"::text::json
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_gone" ON "asset" ("id")
            WHERE state <> 'active'
        `);
    await queryRunner.query(`
            ALTER TABLE "inventory_source"
            ADD "said" bytea
        `);
    await queryRunner.query(`
            ALTER TABLE "inventory_source"
            ADD "merged_at" TIMESTAMP WITH TIME ZONE
        `);
    await queryRunner.query(`
            ALTER TABLE "inventory_source"
            ADD "merged_since" TIMESTAMP WITH TIME ZONE
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "inventory_source" DROP COLUMN "merged_since"
        `);
    await queryRunner.query(`
            ALTER TABLE "inventory_source" DROP COLUMN "merged_at"
        `);
    await queryRunner.query(`
            ALTER TABLE "inventory_source" DROP COLUMN "said"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_gone"
        `);
    await queryRunner.query(`
            ALTER TABLE "asset" ALTER COLUMN "component" TYPE jsonb USING "component"::text::jsonb
        `);
  }
}
