import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds everybody who could have added a member to an approver group, and everybody who ever changed a workload trust. Null: nobody else, and not known. */
export class PeopleBehindChanges1798000048000 implements MigrationInterface {
  name = 'PeopleBehindChanges1798000048000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "approver_group_member" ADD "added_by_others" text array`);
    await queryRunner.query(`ALTER TABLE "workload_trust" ADD "changed_by" text array`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "workload_trust" DROP COLUMN "changed_by"`);
    await queryRunner.query(`ALTER TABLE "approver_group_member" DROP COLUMN "added_by_others"`);
  }
}
