import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds columns with the IDs of the people, in addition to the author, whose rights a schedule or an invitation requires. Null if only the author's rights
 * count, and in rows of earlier versions.
 */
export class PeopleBehindOrders1798000048450 implements MigrationInterface {
  name = 'PeopleBehindOrders1798000048450';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "schedule" ADD "made_behind" text array`);
    await queryRunner.query(`ALTER TABLE "invitation" ADD "inviter_behind" text array`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "invitation" DROP COLUMN "inviter_behind"`);
    await queryRunner.query(`ALTER TABLE "schedule" DROP COLUMN "made_behind"`);
  }
}
