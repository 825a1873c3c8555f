import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Names of algorithms that people taught. The version before reads the rules of the same rows, and no names. */
export class OwnNames1798000040100 implements MigrationInterface {
  name = 'OwnNames1798000040100';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "risk_rule_set"
            ADD "names" jsonb NOT NULL DEFAULT '[]',
            ADD "follows_product" boolean NOT NULL DEFAULT false
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "risk_rule_set"
            DROP COLUMN "names",
            DROP COLUMN "follows_product"
        `);
  }
}
