import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Policy packs of one's own, and what was attested by which pack. */
export class Attestations1796400000003 implements MigrationInterface {
  name = 'Attestations1796400000003';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "policy_pack" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "pack" jsonb NOT NULL,
                "created_by" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "policy_pack_name" UNIQUE ("name"),
                CONSTRAINT "PK_143ff69095181db10e4096579c0" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "attestation" (
                "id" uuid NOT NULL,
                "pack_id" text NOT NULL,
                "pack" jsonb NOT NULL,
                "scope" text,
                "as_of" date NOT NULL,
                "results" jsonb NOT NULL,
                "score" double precision NOT NULL,
                "statement" text NOT NULL,
                "reviewer" text NOT NULL,
                "evidence" jsonb NOT NULL,
                "created_by" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "PK_c5443ea47f1f49c64c47257a6a2" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "attestation_pack" ON "attestation" ("pack_id", "id")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."attestation_pack"
        `);
    await queryRunner.query(`
            DROP TABLE "attestation"
        `);
    await queryRunner.query(`
            DROP TABLE "policy_pack"
        `);
  }
}
