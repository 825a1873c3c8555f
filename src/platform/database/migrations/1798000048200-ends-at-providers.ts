import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['auth_session', 'device_authorization'];

/**
 * Adds the time at which the identity provider ends a session, which also limits what is granted in the session. Null: the provider states no end,
 * or the session is older than the column.
 */
export class EndsAtProviders1798000048200 implements MigrationInterface {
  name = 'EndsAtProviders1798000048200';

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" ADD "provider_end" timestamptz`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" DROP COLUMN "provider_end"`);
  }
}
