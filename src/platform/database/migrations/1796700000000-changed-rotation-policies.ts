import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rotation policies are changed, and each change is meant for a version of them. */
export class ChangedRotationPolicies1796700000000 implements MigrationInterface {
  name = 'ChangedRotationPolicies1796700000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "ssh_rotation_policy"
            ADD "version" integer NOT NULL DEFAULT 1
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "ssh_rotation_policy" DROP COLUMN "version"
        `);
  }
}
