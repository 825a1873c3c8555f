import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tables whose rows are credentials or rights (docs/decisions/0170). */
const TABLES = [
  'approval_policy',
  'approval_policy_revision',
  'approver_group_member',
  'api_key',
  'auth_session',
  'device_authorization',
  'external_identity',
  'identity_provider',
  'invitation',
  'oauth_client',
  'password_reset',
  'recovery_code',
  'refresh_token',
  'second_factor',
  'secret_disclosure',
  'ssh_login_rule',
  'sso_transaction',
  'user_account',
  'workload_identity',
  'workload_issuer',
  'workload_trust',
];

/**
 * Seals of rows. A database that is in use has rows without a seal, and processes of the version before write more of them: these rows are adopted a day
 * later, or when an operator says that the upgrade is over (`sealwright-admin reseal`). A new database demands seals from the start.
 */
export class RowSeals1798000043000 implements MigrationInterface {
  name = 'RowSeals1798000043000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" ADD "seal" bytea`);
    await queryRunner.query(`ALTER TABLE "user_account" ADD "factors" text array`);
    await queryRunner.query(`ALTER TABLE "approval_policy_revision" ADD "policies" text array`);
    const users: unknown[] = await queryRunner.query(`SELECT 1 FROM "user_account" LIMIT 1`);
    // The default fills in the row that there is.
    const from = users.length === 0 ? 'NULL' : `now() + interval '1 day'`;
    await queryRunner.query(`
            ALTER TABLE "seal_format"
            ADD "rows_sealed_from" TIMESTAMP WITH TIME ZONE DEFAULT ${from},
            ADD "rows_seal" bytea
        `);
    await queryRunner.query(`ALTER TABLE "seal_format" ALTER COLUMN "rows_sealed_from" SET DEFAULT NULL`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "seal_format" DROP COLUMN "rows_seal", DROP COLUMN "rows_sealed_from"`);
    await queryRunner.query(`ALTER TABLE "approval_policy_revision" DROP COLUMN "policies"`);
    await queryRunner.query(`ALTER TABLE "user_account" DROP COLUMN "factors"`);
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" DROP COLUMN "seal"`);
  }
}
