import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ScanRuns1796500000000 implements MigrationInterface {
  name = 'ScanRuns1796500000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "scan" ADD "run_id" uuid`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "scan" DROP COLUMN "run_id"`);
  }
}
