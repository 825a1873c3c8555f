import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Adds the reporter whose document first required a verdict. Null for reporters without a limit, and in rows of earlier versions. */
export class ReportersOfVerdicts1798000048550 implements MigrationInterface {
  name = 'ReportersOfVerdicts1798000048550';
  readonly transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "risk_verdict" ADD COLUMN IF NOT EXISTS "reporter" text`);
    await createIndexConcurrently(
      queryRunner,
      'risk_verdict_reporter',
      'risk_verdict',
      '(reporter) WHERE reporter IS NOT NULL',
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX IF EXISTS "risk_verdict_reporter"`);
    await queryRunner.query(`ALTER TABLE "risk_verdict" DROP COLUMN IF EXISTS "reporter"`);
  }
}
