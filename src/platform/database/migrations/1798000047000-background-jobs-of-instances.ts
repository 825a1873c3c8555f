import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the state of the background jobs to the row of a process. The column is null in rows that the previous version writes. */
export class BackgroundJobsOfInstances1798000047000 implements MigrationInterface {
  name = 'BackgroundJobsOfInstances1798000047000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "service_instance" ADD "background" jsonb`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "service_instance" DROP COLUMN "background"`);
  }
}
