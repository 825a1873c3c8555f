import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the level and the end date that other owners stated for an asset before its describer worsened the description. Null means no limit. */
export class FloorsOfDescriptions1798000046100 implements MigrationInterface {
  name = 'FloorsOfDescriptions1798000046100';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `ALTER TABLE "asset" ADD "floor_level" integer, ADD "floor_not_after" TIMESTAMP WITH TIME ZONE`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "asset" DROP COLUMN "floor_not_after", DROP COLUMN "floor_level"`);
  }
}
