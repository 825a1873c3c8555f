import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['api_key', 'oauth_client', 'workload_trust', 'workload_issuer'];

/**
 * Adds all other people behind a credential, to whose rights it is limited, and the session in which a device code was approved. Null: nobody, and not known.
 */
export class PeopleBehindCredentials1798000046000 implements MigrationInterface {
  name = 'PeopleBehindCredentials1798000046000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" ADD "behind" text array`);
    await queryRunner.query(`ALTER TABLE "device_authorization" ADD "session_id" uuid`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "device_authorization" DROP COLUMN "session_id"`);
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" DROP COLUMN "behind"`);
  }
}
