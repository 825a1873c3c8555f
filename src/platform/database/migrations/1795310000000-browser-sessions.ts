import type { MigrationInterface, QueryRunner } from 'typeorm';

export class BrowserSessions1795310000000 implements MigrationInterface {
  name = 'BrowserSessions1795310000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "auth_session"
            ADD "cookie_hash" bytea
        `);
    await queryRunner.query(`
            ALTER TABLE "sso_transaction"
            ADD "for_browser" boolean NOT NULL DEFAULT false
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "sso_transaction" DROP COLUMN "for_browser"
        `);
    await queryRunner.query(`
            ALTER TABLE "auth_session" DROP COLUMN "cookie_hash"
        `);
  }
}
