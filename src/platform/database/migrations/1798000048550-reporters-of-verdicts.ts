import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the reporter whose document first required a verdict. Null for reporters without a limit, and in rows of earlier versions. */
export class ReportersOfVerdicts1798000048550 implements MigrationInterface {
  name = 'ReportersOfVerdicts1798000048550';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "risk_verdict" ADD "reporter" text`);
    await queryRunner.query(
      `CREATE INDEX "risk_verdict_reporter" ON "risk_verdict" ("reporter") WHERE reporter IS NOT NULL`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "risk_verdict_reporter"`);
    await queryRunner.query(`ALTER TABLE "risk_verdict" DROP COLUMN "reporter"`);
  }
}
