import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SingleSignOn1795179634002 implements MigrationInterface {
  name = 'SingleSignOn1795179634002';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "external_identity" (
                "provider_id" uuid NOT NULL,
                "subject" text NOT NULL,
                "user_id" uuid NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_22584bd9205f0edf8666eeb4e6e" PRIMARY KEY ("provider_id", "subject")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "external_identity_user" ON "external_identity" ("user_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "identity_provider" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "kind" text NOT NULL,
                "label" text NOT NULL,
                "enabled" boolean NOT NULL,
                "settings" jsonb NOT NULL,
                "secret" bytea,
                "rules" jsonb NOT NULL,
                "default_roles" text array,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_5f038d63f2887fd0893ae4c5736" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "identity_provider_name" ON "identity_provider" ("name")
        `);
    await queryRunner.query(`
            CREATE TABLE "sso_transaction" (
                "id" uuid NOT NULL,
                "provider_id" uuid NOT NULL,
                "key_hash" bytea NOT NULL,
                "browser_hash" bytea NOT NULL,
                "secrets" bytea NOT NULL,
                "return_to" text NOT NULL,
                "status" text NOT NULL,
                "user_id" uuid,
                "ticket_hash" bytea,
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "PK_ee24fe4cf776a61f5fcbd17ee1f" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "sso_transaction_key" ON "sso_transaction" ("key_hash")
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "sso_transaction_ticket" ON "sso_transaction" ("ticket_hash")
        `);
    await queryRunner.query(`
            CREATE INDEX "sso_transaction_expires" ON "sso_transaction" ("expires_at")
        `);
    await queryRunner.query(`
            ALTER TABLE "auth_session"
            ADD "provider_id" uuid
        `);
    await queryRunner.query(`
            ALTER TABLE "auth_session"
            ADD "external_session" text
        `);
    await queryRunner.query(`
            ALTER TABLE "user_account"
            ALTER COLUMN "password_hash" DROP NOT NULL
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "user_account"
            ALTER COLUMN "password_hash"
            SET NOT NULL
        `);
    await queryRunner.query(`
            ALTER TABLE "auth_session" DROP COLUMN "external_session"
        `);
    await queryRunner.query(`
            ALTER TABLE "auth_session" DROP COLUMN "provider_id"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."sso_transaction_expires"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."sso_transaction_ticket"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."sso_transaction_key"
        `);
    await queryRunner.query(`
            DROP TABLE "sso_transaction"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."identity_provider_name"
        `);
    await queryRunner.query(`
            DROP TABLE "identity_provider"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."external_identity_user"
        `);
    await queryRunner.query(`
            DROP TABLE "external_identity"
        `);
  }
}
