import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Cursors of the streams of the audit log. */
export class AuditStreams1798000039300 implements MigrationInterface {
  name = 'AuditStreams1798000039300';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "audit_stream" (
                "id" text NOT NULL,
                "position" bigint NOT NULL,
                "fence" bigint NOT NULL DEFAULT 0,
                "due_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "failures" integer NOT NULL DEFAULT 0,
                "last_error" text,
                "last_success_at" TIMESTAMP WITH TIME ZONE,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                PRIMARY KEY ("id")
            )
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "audit_stream"`);
  }
}
