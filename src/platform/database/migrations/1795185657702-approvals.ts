import { MigrationInterface, QueryRunner } from 'typeorm';

export class Approvals1795185657702 implements MigrationInterface {
  name = 'Approvals1795185657702';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "approval_vote" (
                "approval_id" uuid NOT NULL,
                "user_id" uuid NOT NULL,
                "user_name" text NOT NULL,
                "decision" text NOT NULL,
                "stage" integer NOT NULL,
                "comment" text,
                "hash" bytea NOT NULL,
                "at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_6ed277be4173583f3477b28eace" PRIMARY KEY ("approval_id", "user_id")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "approval" (
                "id" uuid NOT NULL,
                "status" text NOT NULL,
                "subject_kind" text NOT NULL,
                "subject_id" uuid NOT NULL,
                "title" text NOT NULL,
                "shown" text NOT NULL,
                "hash" bytea NOT NULL,
                "policies" jsonb NOT NULL,
                "stages" jsonb NOT NULL,
                "stage" integer NOT NULL DEFAULT '0',
                "group_id" uuid,
                "group_ids" uuid array NOT NULL,
                "comment_required" boolean NOT NULL,
                "reject_threshold" integer NOT NULL,
                "expires_in_seconds" integer NOT NULL,
                "owner_id" text NOT NULL,
                "requested_by" text NOT NULL,
                "requester_name" text NOT NULL,
                "correlation" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "decided_at" TIMESTAMP WITH TIME ZONE,
                "superseded_by" uuid,
                CONSTRAINT "approval_group" CHECK ((status = 'PENDING') = (group_id IS NOT NULL)),
                CONSTRAINT "approval_decided" CHECK ((status = 'PENDING') = (decided_at IS NULL)),
                CONSTRAINT "PK_97bfd1cd9dff3c1302229da6b5c" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "approval_expiring" ON "approval" ("expires_at")
            WHERE status = 'PENDING'
        `);
    await queryRunner.query(`
            CREATE INDEX "approval_waiting" ON "approval" ("group_id", "id")
            WHERE status = 'PENDING'
        `);
    await queryRunner.query(`
            CREATE INDEX "approval_owner" ON "approval" ("owner_id", "id")
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "approval_one_pending" ON "approval" ("subject_kind", "subject_id")
            WHERE status = 'PENDING'
        `);
    await queryRunner.query(`
            CREATE INDEX "approval_subject" ON "approval" ("subject_id", "id")
        `);
    await queryRunner.query(`
            CREATE TABLE "approver_group_member" (
                "group_id" uuid NOT NULL,
                "member" text NOT NULL,
                "user_id" uuid,
                "provider_id" uuid,
                "sso_group" text,
                "added_by" text NOT NULL,
                "added_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "approver_group_member_kind" CHECK (
                    (user_id IS NULL) = (
                        provider_id IS NOT NULL
                        AND sso_group IS NOT NULL
                    )
                ),
                CONSTRAINT "PK_885b2aa6d348370fd6d016471ee" PRIMARY KEY ("group_id", "member")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "approver_group_member_user" ON "approver_group_member" ("user_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "approver_group" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "revision" integer NOT NULL DEFAULT '1',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_2cfffcc1f04f89e4e9b271b5490" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "approver_group_name" ON "approver_group" ("name")
        `);
    await queryRunner.query(`
            CREATE TABLE "approval_policy_revision" (
                "only" boolean NOT NULL DEFAULT true,
                "revision" integer NOT NULL DEFAULT '0',
                CONSTRAINT "PK_dd6e7dc19f70742edbbeb374684" PRIMARY KEY ("only")
            )
        `);
    await queryRunner.query(`
            INSERT INTO "approval_policy_revision" DEFAULT VALUES
        `);
    await queryRunner.query(`
            CREATE TABLE "approval_policy" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "subject" text NOT NULL,
                "keys" text array NOT NULL,
                "conditions" jsonb NOT NULL DEFAULT '[]',
                "stages" jsonb NOT NULL,
                "expires_in_seconds" integer NOT NULL,
                "comment_required" boolean NOT NULL,
                "reject_threshold" integer NOT NULL,
                "revision" integer NOT NULL DEFAULT '1',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_06da9549a940994965e137d4b8a" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "approval_policy_name" ON "approval_policy" ("name")
        `);
    await queryRunner.query(`
            ALTER TABLE "external_identity"
            ADD "groups" text array NOT NULL DEFAULT '{}'
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request"
            ADD "approval_id" uuid
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request"
            ADD "released_at" TIMESTAMP WITH TIME ZONE
        `);
    await queryRunner.query(`
            CREATE INDEX "signing_request_held" ON "signing_request" ("key_id")
            WHERE status = 'PENDING_APPROVAL'
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."signing_request_held"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request" DROP COLUMN "released_at"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request" DROP COLUMN "approval_id"
        `);
    await queryRunner.query(`
            ALTER TABLE "external_identity" DROP COLUMN "groups"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approval_policy_name"
        `);
    await queryRunner.query(`
            DROP TABLE "approval_policy"
        `);
    await queryRunner.query(`
            DROP TABLE "approval_policy_revision"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approver_group_name"
        `);
    await queryRunner.query(`
            DROP TABLE "approver_group"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approver_group_member_user"
        `);
    await queryRunner.query(`
            DROP TABLE "approver_group_member"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approval_subject"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approval_one_pending"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approval_owner"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approval_waiting"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."approval_expiring"
        `);
    await queryRunner.query(`
            DROP TABLE "approval"
        `);
    await queryRunner.query(`
            DROP TABLE "approval_vote"
        `);
  }
}
