import type { MigrationInterface, QueryRunner } from 'typeorm';

/** In the order of their bits. */
const KINDS = `'{dependsOn,provides,algorithm,signatureAlgorithm,subjectPublicKey,securedBy,cipherSuite,cryptoRef}'::text[]`;

/** An edge is one row with all its kinds (docs/decisions/0064). The primary key includes them, so that nobody has to look into the table. */
export class OneRowPerEdge1796600000001 implements MigrationInterface {
  name = 'OneRowPerEdge1796600000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "asset_relationship" RENAME TO "asset_relationship_of_kind"`);
    await queryRunner.query(`
            CREATE TABLE "asset_relationship" (
                "from_id" uuid NOT NULL,
                "to_id" uuid NOT NULL,
                "source_id" uuid NOT NULL,
                "kinds" smallint NOT NULL
            )
        `);
    await queryRunner.query(`
            INSERT INTO "asset_relationship" ("from_id", "to_id", "source_id", "kinds")
            SELECT "from_id", "to_id", "source_id", bit_or(1 << array_position(${KINDS}, "kind") - 1)
            FROM "asset_relationship_of_kind" GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        `);
    await queryRunner.query(`DROP TABLE "asset_relationship_of_kind"`);
    await queryRunner.query(`
            ALTER TABLE "asset_relationship" ADD CONSTRAINT "PK_592d93c0f92fb7c092fa9bb0ef4"
            PRIMARY KEY ("from_id", "to_id", "source_id") INCLUDE ("kinds")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_relationship_to" ON "asset_relationship" ("to_id", "from_id", "kinds")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "asset_relationship" RENAME TO "asset_relationship_of_kinds"`);
    await queryRunner.query(`
            CREATE TABLE "asset_relationship" (
                "from_id" uuid NOT NULL,
                "kind" text NOT NULL,
                "to_id" uuid NOT NULL,
                "source_id" uuid NOT NULL,
                "first_seen" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now()
            )
        `);
    await queryRunner.query(`
            INSERT INTO "asset_relationship" ("from_id", "kind", "to_id", "source_id")
            SELECT "from_id", k."kind", "to_id", "source_id"
            FROM "asset_relationship_of_kinds", unnest(${KINDS}) WITH ORDINALITY AS k("kind", "place")
            WHERE "kinds" & (1 << k."place"::int - 1) <> 0 ORDER BY 1, 2, 3, 4
        `);
    await queryRunner.query(`DROP TABLE "asset_relationship_of_kinds"`);
    await queryRunner.query(`
            ALTER TABLE "asset_relationship" ADD CONSTRAINT "PK_0fdc11d27f503906b90be4a9119"
            PRIMARY KEY ("from_id", "kind", "to_id", "source_id")
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_relationship_to" ON "asset_relationship" ("to_id", "kind", "from_id")
        `);
  }
}
