import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Timestamps1795178831171 implements MigrationInterface {
  name = 'Timestamps1795178831171';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "timestamp" (
                "id" uuid NOT NULL,
                "status" text NOT NULL,
                "digest" bytea NOT NULL,
                "algorithm" text NOT NULL,
                "gen_time" TIMESTAMP WITH TIME ZONE NOT NULL,
                "key_id" uuid NOT NULL,
                "key_version" integer NOT NULL,
                "signed_digest" bytea NOT NULL,
                "signature" bytea,
                "failure_code" text,
                "request_id" uuid,
                "owner_id" text NOT NULL,
                "requested_by" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "timestamp_signature" CHECK ((status = 'ISSUED') = (signature IS NOT NULL)),
                CONSTRAINT "PK_265d089f1f6c063fe99d2326787" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "timestamp_pending" ON "timestamp" ("created_at")
            WHERE status = 'PENDING'
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP TABLE "timestamp"
        `);
  }
}
