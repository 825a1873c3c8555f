import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Running counts of active assets by verdict, as `tally.ts` keeps them. */
export class AssetsByVerdict1797100000000 implements MigrationInterface {
  name = 'AssetsByVerdict1797100000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            INSERT INTO "inventory_tally" ("dimension", "value", "level", "slot", "count")
            SELECT 'verdict', "verdict_id"::text, "level", 0, count(*) FROM "judged_asset"
            WHERE "state" = 'active' AND "verdict_id" IS NOT NULL GROUP BY "verdict_id", "level"
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM "inventory_tally" WHERE "dimension" = 'verdict'`);
  }
}
