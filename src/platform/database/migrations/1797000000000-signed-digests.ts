import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What was asked for one digest: whoever holds a file finds who signed it. */
export class SignedDigests1797000000000 implements MigrationInterface {
  name = 'SignedDigests1797000000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE INDEX "signing_request_digest" ON "signing_request" ("digest", "id")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."signing_request_digest"
        `);
  }
}
