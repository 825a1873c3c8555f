import type { MigrationInterface, QueryRunner } from 'typeorm';

const COLUMNS = `a.id, a.kind, a.name, a.verdict_id, a.resolved_by, a.not_before, a.not_after, a.component, a.content,
                   a.state, a.owner, a.labels, a.version, a.first_seen, greatest(a.changed_at, v.changed_at) AS changed_at,
                   v.kind AS judged_as, v.family, v.bits, v.level, v.quantum, v.classical, v.rule, v.deadline`;
const TABLES = 'asset a LEFT JOIN risk_verdict v ON v.id = a.verdict_id';

/** Whose the next deadline of a verdict is. The version before leaves it empty, and the new one fills it in when it judges by its rules. */
export class DeadlinesByAuthority1798000043501 implements MigrationInterface {
  name = 'DeadlinesByAuthority1798000043501';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "risk_verdict" ADD "deadline_by" jsonb`);
    await queryRunner.query(`CREATE OR REPLACE VIEW "judged_asset" AS SELECT ${COLUMNS}, v.deadline_by FROM ${TABLES}`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP VIEW "judged_asset"`);
    await queryRunner.query(`CREATE VIEW "judged_asset" AS SELECT ${COLUMNS} FROM ${TABLES}`);
    await queryRunner.query(`ALTER TABLE "risk_verdict" DROP COLUMN "deadline_by"`);
  }
}
