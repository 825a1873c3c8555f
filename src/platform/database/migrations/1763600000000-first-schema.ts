import type { MigrationInterface, QueryRunner } from 'typeorm';

export class FirstSchema1763600000000 implements MigrationInterface {
  name = 'FirstSchema1763600000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "audit_entry" (
                "id" uuid NOT NULL,
                "at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "action" text NOT NULL,
                "outcome" text NOT NULL,
                "actor_kind" text NOT NULL,
                "actor_id" text NOT NULL,
                "actor_name" text NOT NULL,
                "target_kind" text NOT NULL,
                "target_id" text NOT NULL,
                "correlation" text NOT NULL,
                "source" text NOT NULL,
                "detail" jsonb NOT NULL DEFAULT '{}',
                CONSTRAINT "PK_58a130a4b9da189f46ba2a01801" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "audit_entry_target" ON "audit_entry" ("target_id")
        `);
    await queryRunner.query(`
            CREATE TABLE "api_key" (
                "id" uuid NOT NULL,
                "lookup" text NOT NULL,
                "name" text NOT NULL,
                "permissions" text array NOT NULL,
                "expiry" TIMESTAMP WITH TIME ZONE NOT NULL,
                "secret_hash" bytea NOT NULL,
                "owner_id" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "revoked_at" TIMESTAMP WITH TIME ZONE,
                "last_used_at" TIMESTAMP WITH TIME ZONE,
                "last_used_from" text,
                CONSTRAINT "PK_b1bd840641b8acbaad89c3d8d11" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "api_key_lookup" ON "api_key" ("lookup")
        `);
    await queryRunner.query(`
            CREATE TABLE "user_account" (
                "id" uuid NOT NULL,
                "email" text NOT NULL,
                "password_hash" text NOT NULL,
                "roles" text array NOT NULL,
                "disabled" boolean NOT NULL DEFAULT false,
                "token_version" integer NOT NULL DEFAULT '1',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_6acfec7285fdf9f463462de3e9f" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "user_account_email" ON "user_account" ("email")
        `);
    await queryRunner.query(`
            CREATE TABLE "idempotency_key" (
                "principal" text NOT NULL,
                "operation" text NOT NULL,
                "key" text NOT NULL,
                "fingerprint" bytea NOT NULL,
                "resource" uuid NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_a454b9eead2fa4ee2ce764b14e9" PRIMARY KEY ("principal", "operation", "key")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "idempotency_key_created_at" ON "idempotency_key" ("created_at")
        `);
    await queryRunner.query(`
            CREATE TABLE "signing_key_version" (
                "key_id" uuid NOT NULL,
                "version" integer NOT NULL,
                "cka_id" bytea NOT NULL,
                "public_key" bytea,
                "evidence" jsonb,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "signing_key_version_cka_id" UNIQUE ("cka_id"),
                CONSTRAINT "PK_0f7ed3ae7e47cedb9b3266406fb" PRIMARY KEY ("key_id", "version")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "signing_key" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "type" text NOT NULL,
                "state" text NOT NULL,
                "version" integer NOT NULL,
                "owner_id" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_5cc161da020c79bb3ac9953edae" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "signing_key_name" ON "signing_key" ("name")
            WHERE state <> 'FAILED'
        `);
    await queryRunner.query(`
            CREATE TABLE "signing_request" (
                "id" uuid NOT NULL,
                "status" text NOT NULL,
                "digest" bytea NOT NULL,
                "algorithm" text NOT NULL,
                "scheme" text NOT NULL,
                "format" text NOT NULL,
                "key_id" uuid NOT NULL,
                "key_name" text NOT NULL,
                "key_version" integer NOT NULL,
                "metadata" jsonb NOT NULL DEFAULT '{}',
                "reference" text,
                "owner_id" text NOT NULL,
                "requested_by" text NOT NULL,
                "correlation" text NOT NULL,
                "attempt" integer NOT NULL DEFAULT '0',
                "strikes" integer NOT NULL DEFAULT '0',
                "worker" uuid,
                "lease_until" TIMESTAMP WITH TIME ZONE,
                "sweep_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "signature" bytea,
                "failure_code" text,
                "failure_detail" text,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "finished_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "signing_request_finished" CHECK (
                    (status IN ('SIGNED', 'FAILED')) = (finished_at IS NOT NULL)
                ),
                CONSTRAINT "signing_request_lease" CHECK (
                    (status = 'PROCESSING') = (
                        worker IS NOT NULL
                        AND lease_until IS NOT NULL
                    )
                ),
                CONSTRAINT "signing_request_failure" CHECK ((status = 'FAILED') = (failure_code IS NOT NULL)),
                CONSTRAINT "signing_request_signature" CHECK ((status = 'SIGNED') = (signature IS NOT NULL)),
                CONSTRAINT "PK_c215ca76e2b0c01f1216c8e1f0b" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "signing_request_owner" ON "signing_request" ("owner_id", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "signing_request_processing" ON "signing_request" ("lease_until")
            WHERE status = 'PROCESSING'
        `);
    await queryRunner.query(`
            CREATE INDEX "signing_request_queued" ON "signing_request" ("sweep_at")
            WHERE status = 'QUEUED'
        `);
    await queryRunner.query(`
            CREATE TABLE "outbox_message" (
                "id" uuid NOT NULL,
                "topic" text NOT NULL,
                "subject" uuid NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_2f36ee5236f2793f3e7bd554589" PRIMARY KEY ("id")
            )
        `);

    // The log is only ever added to. Whoever owns the table could lift this; that is seen in the log's proofs, not prevented here.
    await queryRunner.query(`
      CREATE FUNCTION audit_entry_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'audit entries are final'; END $$
    `);
    await queryRunner.query(`
      CREATE TRIGGER audit_entry_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry
      FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_is_final()
    `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
        DROP TABLE audit_entry, api_key, user_account, idempotency_key, outbox_message,
          signing_key_version, signing_key, signing_request
      `);
    await queryRunner.query(`DROP FUNCTION audit_entry_is_final`);
  }
}
