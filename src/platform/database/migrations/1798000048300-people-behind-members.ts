import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds a column with the IDs of all people who could have made the call that added a member to an approver group. Null if only the person in added_by could
 * have made the call, or if the people were not recorded.
 */
export class PeopleBehindMembers1798000048300 implements MigrationInterface {
  name = 'PeopleBehindMembers1798000048300';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "approver_group_member" ADD "added_behind" text array`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "approver_group_member" DROP COLUMN "added_behind"`);
  }
}
