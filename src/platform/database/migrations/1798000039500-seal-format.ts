import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When secrets begin to be sealed in a form that the version before does not open: a day after this migration, when an upgrade is
 * over, and at once in an installation that nobody uses yet. `hsm_refused_pin`: PINs that the token refused, as HMACs.
 */
export class SealFormat1798000039500 implements MigrationInterface {
  name = 'SealFormat1798000039500';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "seal_format" (
                "only" boolean NOT NULL DEFAULT true,
                "names_keys_from" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "seal_format_one_row" PRIMARY KEY ("only")
            )
        `);
    await queryRunner.query(`
            INSERT INTO "seal_format" ("names_keys_from")
            SELECT CASE WHEN EXISTS (SELECT 1 FROM "user_account") THEN now() + interval '1 day' ELSE now() END
        `);
    await queryRunner.query(`
            CREATE TABLE "hsm_refused_pin" (
                "fingerprint" bytea NOT NULL,
                "at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "hsm_refused_pin_fingerprint" PRIMARY KEY ("fingerprint")
            )
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "hsm_refused_pin"`);
    await queryRunner.query(`DROP TABLE "seal_format"`);
  }
}
