import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Handover1795185294998 implements MigrationInterface {
  name = 'Handover1795185294998';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "handover" (
                "id" uuid NOT NULL,
                "topic" text NOT NULL,
                "body" jsonb NOT NULL,
                "due_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "attempts" integer NOT NULL DEFAULT '0',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_15e64c0391cf9fb9278f297691f" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "handover_due" ON "handover" ("topic", "due_at", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "inventory_document_received" ON "inventory_document" ("received_at", "id")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."inventory_document_received"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."handover_due"
        `);
    await queryRunner.query(`
            DROP TABLE "handover"
        `);
  }
}
