import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['auth_session', 'device_authorization'];

/** Adds when an identity provider ends a session, for what is granted in it. Null: the provider does not say, or the session is older. */
export class EndsAtProviders1798000048200 implements MigrationInterface {
  name = 'EndsAtProviders1798000048200';

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" ADD "provider_end" timestamptz`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" DROP COLUMN "provider_end"`);
  }
}
