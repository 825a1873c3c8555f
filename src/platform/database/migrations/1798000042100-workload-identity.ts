import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Issuers, trusts and runs of workloads. The check of sessions is only widened, so no row has to be read for it. The version before refuses their sessions, which belong to no person and no client. Requests and
 * policies that it writes have no verified claims.
 */
export class WorkloadIdentity1798000042100 implements MigrationInterface {
  name = 'WorkloadIdentity1798000042100';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "workload_issuer" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "issuer" text NOT NULL,
                "key_source" text NOT NULL,
                "keys" jsonb,
                "keys_read_at" TIMESTAMP WITH TIME ZONE,
                "keys_asked_at" TIMESTAMP WITH TIME ZONE,
                "enabled" boolean NOT NULL DEFAULT true,
                "revision" integer NOT NULL DEFAULT 1,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_b574b3c435706f340a0e1b57333" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`CREATE UNIQUE INDEX "workload_issuer_issuer" ON "workload_issuer" ("issuer")`);
    await queryRunner.query(`
            CREATE TABLE "workload_trust" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "issuer_id" uuid NOT NULL,
                "audience" text NOT NULL,
                "conditions" jsonb NOT NULL,
                "pull_requests" boolean NOT NULL DEFAULT false,
                "scopes" text array NOT NULL,
                "keys" text array NOT NULL,
                "life_seconds" integer NOT NULL DEFAULT 900,
                "enabled" boolean NOT NULL DEFAULT true,
                "owner_id" uuid NOT NULL,
                "revision" integer NOT NULL DEFAULT 1,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "workload_trust_life" CHECK (life_seconds BETWEEN 60 AND 900),
                CONSTRAINT "PK_06a1258f775532f5b4a3cb6daaf" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`CREATE UNIQUE INDEX "workload_trust_name" ON "workload_trust" ("name")`);
    await queryRunner.query(`CREATE INDEX "workload_trust_issuer" ON "workload_trust" ("issuer_id", "audience")`);
    await queryRunner.query(`
            CREATE TABLE "workload_token_use" (
                "issuer_id" uuid NOT NULL,
                "hash" bytea NOT NULL,
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "PK_8d2f3252f47b66667a4cc08e3c1" PRIMARY KEY ("issuer_id", "hash")
            )
        `);
    await queryRunner.query(`CREATE INDEX "workload_token_use_expires" ON "workload_token_use" ("expires_at")`);
    await queryRunner.query(`
            CREATE TABLE "workload_identity" (
                "id" uuid NOT NULL,
                "trust_id" uuid NOT NULL,
                "trust_name" text NOT NULL,
                "claims" jsonb NOT NULL,
                "token" bytea NOT NULL,
                "token_expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "token_sha256" text NOT NULL,
                "key" jsonb NOT NULL,
                "key_thumbprint" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_f4ca7071b2fb03c7718c1f25f7a" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`ALTER TABLE "auth_session" ADD "trust_id" uuid, ADD "trust_revision" integer`);
    await queryRunner.query(`ALTER TABLE "auth_session" DROP CONSTRAINT "auth_session_subject"`);
    await queryRunner.query(`
            ALTER TABLE "auth_session" ADD CONSTRAINT "auth_session_subject"
            CHECK (user_id IS NOT NULL OR client_id IS NOT NULL OR trust_id IS NOT NULL) NOT VALID
        `);
    await queryRunner.query(`ALTER TABLE "signing_request" ADD "identity" jsonb`);
    await queryRunner.query(`ALTER TABLE "approval_policy" ADD "unless" jsonb NOT NULL DEFAULT '[]'`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "approval_policy" DROP COLUMN "unless"`);
    await queryRunner.query(`ALTER TABLE "signing_request" DROP COLUMN "identity"`);
    await queryRunner.query(`DELETE FROM "auth_session" WHERE user_id IS NULL AND client_id IS NULL`);
    await queryRunner.query(`ALTER TABLE "auth_session" DROP CONSTRAINT "auth_session_subject"`);
    await queryRunner.query(`
            ALTER TABLE "auth_session" ADD CONSTRAINT "auth_session_subject" CHECK (user_id IS NOT NULL OR client_id IS NOT NULL)
        `);
    await queryRunner.query(`ALTER TABLE "auth_session" DROP COLUMN "trust_revision", DROP COLUMN "trust_id"`);
    await queryRunner.query(`DROP TABLE "workload_identity"`);
    await queryRunner.query(`DROP TABLE "workload_token_use"`);
    await queryRunner.query(`DROP TABLE "workload_trust"`);
    await queryRunner.query(`DROP TABLE "workload_issuer"`);
  }
}
