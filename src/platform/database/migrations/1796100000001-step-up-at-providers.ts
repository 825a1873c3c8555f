import type { MigrationInterface, QueryRunner } from 'typeorm';

export class StepUpAtProviders1796100000001 implements MigrationInterface {
  name = 'StepUpAtProviders1796100000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "sso_transaction"
            ADD "session_id" uuid
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "sso_transaction" DROP COLUMN "session_id"
        `);
  }
}
