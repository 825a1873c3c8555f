import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Adds an index on the owner of a source. A reporter's assets are counted by this owner before a document from the reporter is stored. */
export class SourcesByOwner1798000046200 implements MigrationInterface {
  name = 'SourcesByOwner1798000046200';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexConcurrently(queryRunner, 'inventory_source_owner', 'inventory_source', '("owner")');
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "inventory_source_owner"`);
  }
}
