import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One small index for all that has few values, instead of three with the id behind each (docs/decisions/0065). */
export class AssetFacts1796600000002 implements MigrationInterface {
  name = 'AssetFacts1796600000002';

  public async up(queryRunner: QueryRunner): Promise<void> {
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
            CREATE INDEX "asset_facts" ON "asset" ("kind", "level", "family", "quantum", "classical")
        `);
    await queryRunner.query(`
            CREATE STATISTICS "asset_facts_together" (mcv) ON "kind", "level", "family", "quantum", "classical" FROM "asset"
        `);
    // What is there already changes too little to be analysed soon.
    await queryRunner.query(`
            ANALYZE "asset"
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP STATISTICS "asset_facts_together"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_facts"
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
  }
}
