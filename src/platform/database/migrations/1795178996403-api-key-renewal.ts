import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ApiKeyRenewal1795178996403 implements MigrationInterface {
  name = 'ApiKeyRenewal1795178996403';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "api_key"
            ADD "addresses" text array
        `);
    await queryRunner.query(`
            ALTER TABLE "api_key"
            ADD "replaced_by" uuid
        `);
    await queryRunner.query(`
            ALTER TABLE "api_key"
            ADD "warned_days" integer
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "api_key" DROP COLUMN "warned_days"
        `);
    await queryRunner.query(`
            ALTER TABLE "api_key" DROP COLUMN "replaced_by"
        `);
    await queryRunner.query(`
            ALTER TABLE "api_key" DROP COLUMN "addresses"
        `);
  }
}
