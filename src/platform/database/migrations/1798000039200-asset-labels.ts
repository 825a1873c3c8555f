import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Most assets have no label: those that have one are found by it without a look at the others. */
export class AssetLabels1798000039200 implements MigrationInterface {
  name = 'AssetLabels1798000039200';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexConcurrently(queryRunner, 'asset_labels', 'asset', `USING gin ("labels") WHERE labels <> '{}'`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "asset_labels"`);
  }
}
