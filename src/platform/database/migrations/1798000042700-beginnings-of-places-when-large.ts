import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rows from which on search-indexes.ts makes the index. */
const LARGE = 300_000;

/** The index over beginnings of places is one of the search indexes now (docs/decisions/0160): a small inventory is taken in faster without it. */
export class BeginningsOfPlacesWhenLarge1798000042700 implements MigrationInterface {
  name = 'BeginningsOfPlacesWhenLarge1798000042700';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    const [table] = (await queryRunner.query(
      `SELECT reltuples >= ${LARGE} AS "isLarge" FROM pg_class WHERE oid = 'asset_occurrence'::regclass`,
    )) as { isLarge: boolean }[];
    if (table?.isLarge !== true)
      await queryRunner.query('DROP INDEX CONCURRENTLY IF EXISTS asset_occurrence_location_start');
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE INDEX IF NOT EXISTS asset_occurrence_location_start ON asset_occurrence ("left"(location, 32) text_pattern_ops) WHERE location <> ''`,
    );
  }
}
