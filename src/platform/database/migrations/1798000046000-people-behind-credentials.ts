import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['api_key', 'oauth_client', 'workload_trust', 'workload_issuer'];

/**
 * Adds the other people behind a credential, whose rights also limit the credential, and the session in which a device code was approved. `behind` is
 * null if there are no other people; `session_id` is null if the session is unknown.
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
