import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the source that last made an asset worse, which others may not undo. Null: the source that has shown it for the longest time describes it. */
export class DescribersOfAssets1798000044900 implements MigrationInterface {
  name = 'DescribersOfAssets1798000044900';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "asset" ADD "described_by" uuid`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "asset" DROP COLUMN "described_by"`);
  }
}
