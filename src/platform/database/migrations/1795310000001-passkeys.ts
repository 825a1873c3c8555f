import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Passkeys1795310000001 implements MigrationInterface {
  name = 'Passkeys1795310000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "passkey_challenge" (
                "hash" bytea NOT NULL,
                "user_id" uuid NOT NULL,
                "purpose" text NOT NULL,
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "passkey_challenge_pkey" PRIMARY KEY ("hash")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "passkey_challenge_expires" ON "passkey_challenge" ("expires_at")
        `);
    await queryRunner.query(`
            ALTER TABLE "second_factor"
            ADD "kind" text NOT NULL DEFAULT 'totp',
            ADD "credential_id" bytea,
            ADD "public_key" bytea,
            ADD "transports" text array NOT NULL DEFAULT '{}',
            ALTER COLUMN "seed" DROP NOT NULL
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "second_factor_credential" ON "second_factor" ("credential_id")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."second_factor_credential"
        `);
    await queryRunner.query(`
            DELETE FROM "second_factor"
            WHERE "kind" = 'passkey'
        `);
    await queryRunner.query(`
            ALTER TABLE "second_factor"
            ALTER COLUMN "seed" SET NOT NULL,
            DROP COLUMN "transports",
            DROP COLUMN "public_key",
            DROP COLUMN "credential_id",
            DROP COLUMN "kind"
        `);
    await queryRunner.query(`
            DROP TABLE "passkey_challenge"
        `);
  }
}
