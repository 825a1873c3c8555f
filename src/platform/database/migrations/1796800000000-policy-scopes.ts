import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Where policy packs are held against a part of the inventory; until now only attestations told it. */
export class PolicyScopes1796800000000 implements MigrationInterface {
  name = 'PolicyScopes1796800000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "policy_scope" (
                "pack_id" uuid NOT NULL,
                "digest" bytea NOT NULL,
                "scope" text NOT NULL,
                CONSTRAINT "policy_scope_of_pack" PRIMARY KEY ("pack_id", "digest")
            )
        `);
    await queryRunner.query(`
            INSERT INTO "policy_scope" ("pack_id", "digest", "scope")
            SELECT DISTINCT p."id", sha256(convert_to(a."scope", 'UTF8')), a."scope"
            FROM "attestation" a JOIN "policy_pack" p ON p."id"::text = a."pack_id"
            WHERE a."scope" IS NOT NULL
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP TABLE "policy_scope"
        `);
  }
}
