import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Lists under the seals who was ever shown a secret and who uploaded the keys of an issuer, and counts the changes of accounts. The new columns are null in
 * the rows that there are: null columns are not part of a seal. `rights_snapshot` is what RightsLedger has read of the audit log.
 */
export class RightsHistory1798000044100 implements MigrationInterface {
  name = 'RightsHistory1798000044100';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "api_key" ADD "disclosed_to" text array`);
    await queryRunner.query(`ALTER TABLE "oauth_client" ADD "disclosed_to" text array`);
    await queryRunner.query(`ALTER TABLE "workload_issuer" ADD "uploader_id" text, ADD "disclosed_to" text array`);
    await queryRunner.query(`ALTER TABLE "user_account" ADD "revision" integer`);
    await queryRunner.query(`
            CREATE TABLE "rights_snapshot" (
                "only" boolean NOT NULL DEFAULT true,
                "size" bigint NOT NULL,
                "content" text NOT NULL,
                "seal" bytea NOT NULL,
                CONSTRAINT "PK_459f85f084f3302a35810e48849" PRIMARY KEY ("only")
            )
        `);
    // Processes of the version before see the rule as disabled, since they do not know its condition (1798000043700).
    await queryRunner.query(
      `INSERT INTO alert_rule (id, name, condition, parameters, severity, grouping, emails, webhooks, enabled, active)
       VALUES ('019a0000-0000-7000-8000-00000000000a', 'Changes of the database', 'database-changed', '{}', 'critical', 'rule', '{}', '{}', false, true)
       ON CONFLICT DO NOTHING`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM alert_rule WHERE condition = 'database-changed'`);
    await queryRunner.query(`DROP TABLE "rights_snapshot"`);
    await queryRunner.query(`ALTER TABLE "user_account" DROP COLUMN "revision"`);
    await queryRunner.query(`ALTER TABLE "workload_issuer" DROP COLUMN "disclosed_to", DROP COLUMN "uploader_id"`);
    await queryRunner.query(`ALTER TABLE "oauth_client" DROP COLUMN "disclosed_to"`);
    await queryRunner.query(`ALTER TABLE "api_key" DROP COLUMN "disclosed_to"`);
  }
}
