import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Policy packs are changed, and each change is meant for a revision of them. */
export class ChangedPolicyPacks1796600000004 implements MigrationInterface {
  name = 'ChangedPolicyPacks1796600000004';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "policy_pack"
            ADD "revision" integer NOT NULL DEFAULT 1
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "policy_pack" DROP COLUMN "revision"
        `);
  }
}
