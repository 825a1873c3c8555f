import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The trace of a call goes with what it hands over. The version before leaves the columns empty. */
export class TraceParents1798000039301 implements MigrationInterface {
  name = 'TraceParents1798000039301';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "signing_request" ADD "trace_parent" text`);
    await queryRunner.query(`ALTER TABLE "handover" ADD "trace_parent" text`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "handover" DROP COLUMN "trace_parent"`);
    await queryRunner.query(`ALTER TABLE "signing_request" DROP COLUMN "trace_parent"`);
  }
}
