import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Whose a source is, and what the places of single tools in it are known by. A source that is there belongs to who sent its newest
 * document; one whose documents nobody knows any more, to the next who reports it.
 */
export class SourceOwners1797200000060 implements MigrationInterface {
  name = 'SourceOwners1797200000060';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "inventory_source" ADD "owner" text`);
    await queryRunner.query(`ALTER TABLE "inventory_source" ADD "tool_contexts" text array`);
    await queryRunner.query(`
            UPDATE "inventory_source" s SET "owner" = coalesce(
              (SELECT 'sensor:' || k."sensor_id" FROM "sensor_api_key" k WHERE k."api_key_id"::text = d."received_from"),
              (SELECT 'api-key:' || k."id" FROM "api_key" k WHERE k."id"::text = d."received_from"),
              (SELECT 'user:' || u."id" FROM "user_account" u WHERE u."id"::text = d."received_from"),
              (SELECT 'oauth-client:' || c."id" FROM "oauth_client" c WHERE c."id"::text = d."received_from"))
            FROM (SELECT DISTINCT ON ("source_id") "source_id", "received_from" FROM "inventory_document"
                  ORDER BY "source_id", "received_at" DESC) d
            WHERE d."source_id" = s."id"
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "inventory_source" DROP COLUMN "tool_contexts"`);
    await queryRunner.query(`ALTER TABLE "inventory_source" DROP COLUMN "owner"`);
  }
}
