import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SignOutAtProviders1795310000002 implements MigrationInterface {
  name = 'SignOutAtProviders1795310000002';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "auth_session"
            ADD "id_token" bytea
        `);
    await queryRunner.query(`
            CREATE INDEX "auth_session_external" ON "auth_session" ("provider_id", "external_session")
            WHERE provider_id IS NOT NULL
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."auth_session_external"
        `);
    await queryRunner.query(`
            ALTER TABLE "auth_session" DROP COLUMN "id_token"
        `);
  }
}
