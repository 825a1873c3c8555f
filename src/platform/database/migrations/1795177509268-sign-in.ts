import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SignIn1795177509268 implements MigrationInterface {
  name = 'SignIn1795177509268';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "device_authorization" (
                "id" uuid NOT NULL,
                "client_id" uuid NOT NULL,
                "device_code_hash" bytea NOT NULL,
                "user_code" text NOT NULL,
                "scopes" text array NOT NULL,
                "status" text NOT NULL,
                "user_id" uuid,
                "poll_seconds" integer NOT NULL,
                "polled_at" TIMESTAMP WITH TIME ZONE,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "device_authorization_person" CHECK (
                    status IN ('PENDING', 'DENIED')
                    OR user_id IS NOT NULL
                ),
                CONSTRAINT "PK_e360bd227c20f47c8c1c7ccbaec" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "device_authorization_device_code" ON "device_authorization" ("device_code_hash")
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "device_authorization_user_code" ON "device_authorization" ("user_code")
        `);
    await queryRunner.query(`
            CREATE INDEX "device_authorization_expires" ON "device_authorization" ("expires_at")
        `);
    await queryRunner.query(`
            CREATE TABLE "oauth_client" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "permissions" text array NOT NULL,
                "secret_hash" bytea,
                "owner_id" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "revoked_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_d6e58a7e0ec3ac17a67ba7f97cd" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "refresh_token" (
                "id" uuid NOT NULL,
                "session_id" uuid NOT NULL,
                "hash" bytea NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "used_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_b575dd3c21fb0831013c909e7fe" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "refresh_token_hash" ON "refresh_token" ("hash")
        `);
    await queryRunner.query(`
            CREATE INDEX "refresh_token_session" ON "refresh_token" ("session_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "auth_session" (
                "id" uuid NOT NULL,
                "user_id" uuid,
                "client_id" uuid,
                "way" text NOT NULL,
                "scopes" text array,
                "methods" text array NOT NULL DEFAULT '{}',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "authenticated_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "ended_at" TIMESTAMP WITH TIME ZONE,
                "ended_because" text,
                "address" text NOT NULL,
                "agent" text NOT NULL,
                "last_used_at" TIMESTAMP WITH TIME ZONE,
                "last_used_from" text,
                CONSTRAINT "auth_session_subject" CHECK (
                    user_id IS NOT NULL
                    OR client_id IS NOT NULL
                ),
                CONSTRAINT "PK_19354ed146424a728c1112a8cbf" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "auth_session_expires" ON "auth_session" ("expires_at")
        `);
    await queryRunner.query(`
            CREATE INDEX "auth_session_client" ON "auth_session" ("client_id", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "auth_session_user" ON "auth_session" ("user_id", "id")
        `);
    await queryRunner.query(`
            CREATE TABLE "attempt_count" (
                "key" bytea NOT NULL,
                "attempts" integer NOT NULL,
                "blocked_until" TIMESTAMP WITH TIME ZONE NOT NULL,
                "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "PK_d55e0b78f2443485f32f9eb3f9e" PRIMARY KEY ("key")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "attempt_count_updated" ON "attempt_count" ("updated_at")
        `);
    await queryRunner.query(`
            ALTER TABLE "user_account" DROP COLUMN "token_version"
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "user_account"
            ADD "token_version" integer NOT NULL DEFAULT '1'
        `);
    await queryRunner.query(`
            DROP INDEX "public"."attempt_count_updated"
        `);
    await queryRunner.query(`
            DROP TABLE "attempt_count"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."auth_session_user"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."auth_session_client"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."auth_session_expires"
        `);
    await queryRunner.query(`
            DROP TABLE "auth_session"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."refresh_token_session"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."refresh_token_hash"
        `);
    await queryRunner.query(`
            DROP TABLE "refresh_token"
        `);
    await queryRunner.query(`
            DROP TABLE "oauth_client"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."device_authorization_expires"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."device_authorization_user_code"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."device_authorization_device_code"
        `);
    await queryRunner.query(`
            DROP TABLE "device_authorization"
        `);
  }
}
