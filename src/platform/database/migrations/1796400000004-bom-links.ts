import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which asset each bom-ref of a document stands for, and which exports were made. */
export class BomLinks1796400000004 implements MigrationInterface {
  name = 'BomLinks1796400000004';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "bom_link_refs" (
                "said" bytea NOT NULL,
                "refs" bytea NOT NULL,
                CONSTRAINT "PK_f78981c04c209ce5da5acad2a10" PRIMARY KEY ("said")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "bom_link_export" (
                "serial" uuid NOT NULL,
                "state" timestamptz NOT NULL,
                "made_at" timestamptz NOT NULL DEFAULT now(),
                CONSTRAINT "PK_cbe08fd272c79e6f3e45db8633d" PRIMARY KEY ("serial")
            )
        `);
    await queryRunner.query(`
            ALTER TABLE "inventory_document"
            ADD "said" bytea
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "inventory_document" DROP COLUMN "said"
        `);
    await queryRunner.query(`
            DROP TABLE "bom_link_export"
        `);
    await queryRunner.query(`
            DROP TABLE "bom_link_refs"
        `);
  }
}
