import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds columns with the signing keys that an API key or an OAuth client can use, and with the number of its edits. Null in rows of earlier versions, which can
 * use every key. The seal of a row omits null columns, so processes of the previous version accept rows without limits, and reject all other rows.
 */
export class KeysOfCredentials1798000048600 implements MigrationInterface {
  name = 'KeysOfCredentials1798000048600';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "api_key" ADD "signing_keys" text array, ADD "revision" integer`);
    await queryRunner.query(`ALTER TABLE "oauth_client" ADD "signing_keys" text array, ADD "revision" integer`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "oauth_client" DROP COLUMN "revision", DROP COLUMN "signing_keys"`);
    await queryRunner.query(`ALTER TABLE "api_key" DROP COLUMN "revision", DROP COLUMN "signing_keys"`);
  }
}
