import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds a column that records whether the description of an asset was read from the bytes that identify the asset. False in rows of earlier versions. */
export class ProvenAssets1798000048520 implements MigrationInterface {
  name = 'ProvenAssets1798000048520';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "asset" ADD "proven" boolean NOT NULL DEFAULT false`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "asset" DROP COLUMN "proven"`);
  }
}
