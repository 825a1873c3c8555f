import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the owner of a webhook endpoint and its position in the audit log, and the subject and position of a delivery. Null in rows of earlier versions.
 * Endpoints of earlier versions still receive the events that earlier versions sent.
 */
export class OwnersOfWebhooks1798000048700 implements MigrationInterface {
  name = 'OwnersOfWebhooks1798000048700';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_endpoint" ADD "givers" text array`);
    await queryRunner.query(`ALTER TABLE "webhook_endpoint" ADD "owner_id" text`);
    await queryRunner.query(`ALTER TABLE "webhook_endpoint" ADD "feed_position" bigint`);
    await queryRunner.query(`ALTER TABLE "webhook_delivery" ADD "subject" text`);
    await queryRunner.query(`ALTER TABLE "webhook_delivery" ADD "position" bigint`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_delivery" DROP COLUMN "position"`);
    await queryRunner.query(`ALTER TABLE "webhook_delivery" DROP COLUMN "subject"`);
    await queryRunner.query(`ALTER TABLE "webhook_endpoint" DROP COLUMN "feed_position"`);
    await queryRunner.query(`ALTER TABLE "webhook_endpoint" DROP COLUMN "owner_id"`);
    await queryRunner.query(`ALTER TABLE "webhook_endpoint" DROP COLUMN "givers"`);
  }
}
