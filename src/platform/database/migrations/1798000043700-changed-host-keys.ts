import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the predefined rule for changed host keys. The previous version fails on a rule whose condition it does not know, so it sees the rule as
 * disabled; `active` enables it for this version.
 */
export class ChangedHostKeys1798000043700 implements MigrationInterface {
  name = 'ChangedHostKeys1798000043700';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "alert_rule" ADD "active" boolean`);
    await queryRunner.query(
      `INSERT INTO alert_rule (id, name, condition, parameters, severity, grouping, emails, webhooks, enabled, active)
       VALUES ('019a0000-0000-7000-8000-000000000009', 'Changed host keys', 'host-key-changed', '{}', 'critical', 'subject', '{}', '{}', false, true)
       ON CONFLICT DO NOTHING`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM alert_rule WHERE condition = 'host-key-changed'`);
    await queryRunner.query(`ALTER TABLE "alert_rule" DROP COLUMN "active"`);
  }
}
