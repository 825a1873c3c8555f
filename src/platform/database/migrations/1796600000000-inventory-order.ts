import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The places of an asset lie in the order in which exports tell them; what the inventory takes in is in fewer and smaller indexes. */
export class InventoryOrder1796600000000 implements MigrationInterface {
  name = 'InventoryOrder1796600000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."asset_relationship_source"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_occurrence_source"
        `);
    await queryRunner.query(`
            ALTER TABLE "asset_occurrence" DROP CONSTRAINT "PK_bb48c54c7bb073cc75743c632ba",
            ADD CONSTRAINT "PK_bb48c54c7bb073cc75743c632ba" PRIMARY KEY ("asset_id", "id", "source_id")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_occurrence_source" ON "asset_occurrence" ("source_id", "asset_id")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."asset_occurrence_source"
        `);
    await queryRunner.query(`
            ALTER TABLE "asset_occurrence" DROP CONSTRAINT "PK_bb48c54c7bb073cc75743c632ba",
            ADD CONSTRAINT "PK_bb48c54c7bb073cc75743c632ba" PRIMARY KEY ("asset_id", "source_id", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_occurrence_source" ON "asset_occurrence" ("source_id", "asset_id", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_relationship_source" ON "asset_relationship" ("source_id")
        `);
  }
}
