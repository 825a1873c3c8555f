import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Names that sources have for assets, where they differ from the name of the asset. The version before reads and writes none of it. */
export class NamesBySource1798000043500 implements MigrationInterface {
  name = 'NamesBySource1798000043500';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "asset_source_name" (
                "asset_id" uuid NOT NULL,
                "source_id" uuid NOT NULL,
                "name" text NOT NULL,
                CONSTRAINT "PK_asset_source_name" PRIMARY KEY ("asset_id", "source_id", "name")
            )
        `);
    await queryRunner.query(`CREATE INDEX "asset_source_name_name" ON "asset_source_name" ("name")`);
    await queryRunner.query(`CREATE INDEX "asset_source_name_source" ON "asset_source_name" ("source_id", "asset_id")`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "asset_source_name"`);
  }
}
