import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the time of the last change of a webhook endpoint's owner. */
export class ChangesOfWebhookOwners1798000048910 implements MigrationInterface {
  name = 'ChangesOfWebhookOwners1798000048910';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_endpoint" ADD "owned_since" TIMESTAMP WITH TIME ZONE`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_endpoint" DROP COLUMN "owned_since"`);
  }
}
