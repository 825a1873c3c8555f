import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What signing keys say of themselves in OpenPGP. */
export class OpenPgpStatements1798000041500 implements MigrationInterface {
  name = 'OpenPgpStatements1798000041500';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "openpgp_statement" (
                "id" uuid NOT NULL,
                "key_id" uuid NOT NULL,
                "key_version" integer NOT NULL,
                "kind" text NOT NULL,
                "user_id" text,
                "expires_at" TIMESTAMP WITH TIME ZONE,
                "hashed_part" bytea NOT NULL,
                "algorithm" text NOT NULL,
                "digest" bytea NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "openpgp_statement_user" CHECK ((kind = 'certification') = (user_id IS NOT NULL)),
                CONSTRAINT "PK_488cab0f8eff3239705f585ffe5" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "openpgp_statement_of_key" ON "openpgp_statement" ("key_id", "key_version", "id")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP TABLE "openpgp_statement"
        `);
  }
}
