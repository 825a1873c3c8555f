import type { MigrationInterface, QueryRunner } from 'typeorm';

/** By which edition of the reader the assets of a source were read. The version before reads and writes none of it. */
export class ReadingEditions1798000040200 implements MigrationInterface {
  name = 'ReadingEditions1798000040200';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "inventory_source"
            ADD "reading" integer,
            ADD "read_merge" TIMESTAMP WITH TIME ZONE,
            ADD "read_after" uuid
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "inventory_source"
            DROP COLUMN "read_after",
            DROP COLUMN "read_merge",
            DROP COLUMN "reading"
        `);
  }
}
