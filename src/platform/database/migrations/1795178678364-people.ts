import type { MigrationInterface, QueryRunner } from 'typeorm';

export class People1795178678364 implements MigrationInterface {
  name = 'People1795178678364';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "recovery_code" (
                "id" uuid NOT NULL,
                "user_id" uuid NOT NULL,
                "hash" bytea NOT NULL,
                "used_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_b7f1e23329e93a80e25fd281922" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "recovery_code_user" ON "recovery_code" ("user_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "second_factor" (
                "id" uuid NOT NULL,
                "user_id" uuid NOT NULL,
                "name" text NOT NULL,
                "seed" bytea NOT NULL,
                "last_step" bigint NOT NULL DEFAULT '0',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "confirmed_at" TIMESTAMP WITH TIME ZONE,
                "last_used_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_e649c0d005a9b07eb4bed5e0533" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "second_factor_user" ON "second_factor" ("user_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "invitation" (
                "id" uuid NOT NULL,
                "email" text NOT NULL,
                "roles" text array NOT NULL,
                "token_hash" bytea NOT NULL,
                "invited_by" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "accepted_at" TIMESTAMP WITH TIME ZONE,
                "revoked_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_beb994737756c0f18a1c1f8669c" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "invitation_token" ON "invitation" ("token_hash")
        `);
    await queryRunner.query(`
            CREATE TABLE "password_reset" (
                "id" uuid NOT NULL,
                "user_id" uuid NOT NULL,
                "token_hash" bytea NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "used_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_8515e60a2cc41584fa4784f52ce" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "password_reset_token" ON "password_reset" ("token_hash")
        `);
    await queryRunner.query(`
            CREATE TABLE "mail_message" (
                "id" uuid NOT NULL,
                "recipient" text NOT NULL,
                "subject" text NOT NULL,
                "body" bytea,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "attempts" integer NOT NULL DEFAULT '0',
                "next_try_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "sent_at" TIMESTAMP WITH TIME ZONE,
                "given_up_at" TIMESTAMP WITH TIME ZONE,
                "failure" text,
                CONSTRAINT "PK_d23285093ea237bc7632d4fcce9" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "mail_message_waiting" ON "mail_message" ("next_try_at")
            WHERE sent_at IS NULL
                AND given_up_at IS NULL
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."mail_message_waiting"
        `);
    await queryRunner.query(`
            DROP TABLE "mail_message"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."password_reset_token"
        `);
    await queryRunner.query(`
            DROP TABLE "password_reset"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."invitation_token"
        `);
    await queryRunner.query(`
            DROP TABLE "invitation"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."second_factor_user"
        `);
    await queryRunner.query(`
            DROP TABLE "second_factor"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."recovery_code_user"
        `);
    await queryRunner.query(`
            DROP TABLE "recovery_code"
        `);
  }
}
