import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SealedKeys1795400000001 implements MigrationInterface {
  name = 'SealedKeys1795400000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "signing_key_version"
            ADD "sealed" bytea
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "signing_key_version" DROP COLUMN "sealed"
        `);
  }
}
