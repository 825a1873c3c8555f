import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the version of an identity provider, which is its ETag. */
export class IdentityProviderVersion1798000043300 implements MigrationInterface {
  name = 'IdentityProviderVersion1798000043300';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "identity_provider" ADD "version" integer NOT NULL DEFAULT 1`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "identity_provider" DROP COLUMN "version"`);
  }
}
