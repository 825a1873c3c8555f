import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds a column with the IDs of all people who have changed a workload trust. Null in rows of earlier versions, for which only the last editor is known. */
export class EditorsOfTrusts1798000048400 implements MigrationInterface {
  name = 'EditorsOfTrusts1798000048400';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "workload_trust" ADD "changed_by" text array`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "workload_trust" DROP COLUMN "changed_by"`);
  }
}
