import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tables whose rows are all marked once in each hour (docs/decisions/0162). */
const TABLES = ['inventory_source', 'api_key'];

/**
 * Half of each page stays free: a mark is then written into the page of its row (HOT, PostgreSQL manual, "Heap-Only Tuples") without entries in indexes, and takes
 * the room of the mark before it. In full pages marks moved rows from page to page, and the table grew for days.
 */
export class RoomForMarks1798000042800 implements MigrationInterface {
  name = 'RoomForMarks1798000042800';

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" SET (fillfactor = 50)`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" RESET (fillfactor)`);
  }
}
