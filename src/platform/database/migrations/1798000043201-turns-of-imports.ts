import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Adds the order in which imports are run. A process of the version before, which knows no turns, runs them by their ids. */
export class TurnsOfImports1798000043201 implements MigrationInterface {
  name = 'TurnsOfImports1798000043201';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `ALTER TABLE "inventory_import" ADD COLUMN IF NOT EXISTS "turn" integer NOT NULL DEFAULT 0`,
    );
    await createIndexConcurrently(
      queryRunner,
      'inventory_import_turn',
      'inventory_import',
      '("turn", "id") WHERE ended_at IS NULL',
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "inventory_import_turn"`);
    await queryRunner.query(`ALTER TABLE "inventory_import" DROP COLUMN "turn"`);
  }
}
