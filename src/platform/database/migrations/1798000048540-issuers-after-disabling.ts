import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the time at which an issuer of workload tokens was last disabled. Null in rows of earlier versions, and if the issuer was never disabled. */
export class IssuersAfterDisabling1798000048540 implements MigrationInterface {
  name = 'IssuersAfterDisabling1798000048540';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "workload_issuer" ADD "disabled_at" timestamptz`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "workload_issuer" DROP COLUMN "disabled_at"`);
  }
}
