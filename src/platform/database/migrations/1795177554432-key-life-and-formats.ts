import type { MigrationInterface, QueryRunner } from 'typeorm';

export class KeyLifeAndFormats1795177554432 implements MigrationInterface {
  name = 'KeyLifeAndFormats1795177554432';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "certificate" (
                "id" uuid NOT NULL,
                "key_id" uuid,
                "key_version" integer,
                "subject" text NOT NULL,
                "issuer" text NOT NULL,
                "serial_number" text NOT NULL,
                "fingerprint" bytea NOT NULL,
                "not_before" TIMESTAMP WITH TIME ZONE NOT NULL,
                "not_after" TIMESTAMP WITH TIME ZONE NOT NULL,
                "purposes" text array NOT NULL,
                "chain" bytea array NOT NULL,
                "owner_id" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "certificate_key" CHECK ((key_id IS NULL) = (key_version IS NULL)),
                CONSTRAINT "PK_8daddfc65f59e341c2bbc9c9e43" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "certificate_fingerprint" ON "certificate" ("fingerprint")
        `);
    await queryRunner.query(`
            CREATE INDEX "certificate_of_key" ON "certificate" ("key_id", "key_version", "id")
        `);
    await queryRunner.query(`
            CREATE TABLE "signing_envelope" (
                "request_id" uuid NOT NULL,
                "content" bytea,
                "to_be_signed" bytea,
                "signed_digest" bytea,
                "timestamped" boolean NOT NULL,
                "timestamp_token" bytea,
                CONSTRAINT "PK_a0d81d27340266acdac89f9e0de" PRIMARY KEY ("request_id")
            )
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key_version"
            ADD "failed_at" TIMESTAMP WITH TIME ZONE
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key"
            ADD "purpose" text NOT NULL DEFAULT 'signing',
            ADD "not_before" TIMESTAMP WITH TIME ZONE,
            ADD "not_after" TIMESTAMP WITH TIME ZONE
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request"
            ADD "certificate_id" uuid
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request"
            ADD "enveloped" boolean NOT NULL DEFAULT false
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "signing_request" DROP COLUMN "enveloped"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_request" DROP COLUMN "certificate_id"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key" DROP COLUMN "not_after"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key" DROP COLUMN "not_before"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key" DROP COLUMN "purpose"
        `);
    await queryRunner.query(`
            ALTER TABLE "signing_key_version" DROP COLUMN "failed_at"
        `);
    await queryRunner.query(`
            DROP TABLE "signing_envelope"
        `);
    await queryRunner.query(`
            DROP TABLE "certificate"
        `);
  }
}
