import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Adds an index on the pending deliveries of a subject, which are sent in order. */
export class SubjectsOfDeliveries1798000048710 implements MigrationInterface {
  name = 'SubjectsOfDeliveries1798000048710';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      queryRunner,
      'webhook_delivery_of_subject',
      'webhook_delivery',
      `("endpoint_id", "subject") WHERE status = 'PENDING' AND subject IS NOT NULL`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "webhook_delivery_of_subject"`);
  }
}
