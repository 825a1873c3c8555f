import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Keys of OAuth clients, and the proofs that were used. The version before knows nothing of keys and sees such a client with a secret that
 * nobody has, so it refuses it.
 */
export class ClientKeys1798000042200 implements MigrationInterface {
  name = 'ClientKeys1798000042200';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "oauth_client"
            ADD "auth_method" text,
            ADD "keys" jsonb,
            ADD "jwks_uri" text,
            ADD "keys_read_at" TIMESTAMP WITH TIME ZONE,
            ADD "keys_asked_at" TIMESTAMP WITH TIME ZONE
        `);
    await queryRunner.query(`
            ALTER TABLE "oauth_client" ADD CONSTRAINT "oauth_client_keys"
            CHECK ((auth_method IS NOT NULL) = (keys IS NOT NULL) AND (jwks_uri IS NULL OR keys IS NOT NULL)) NOT VALID
        `);
    await queryRunner.query(`
            CREATE TABLE "used_proof" (
                "hash" bytea NOT NULL,
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "PK_ed9f0ac0812dcb4cec3bebbf6e9" PRIMARY KEY ("hash")
            )
        `);
    await queryRunner.query(`CREATE INDEX "used_proof_expires" ON "used_proof" ("expires_at")`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "used_proof"`);
    await queryRunner.query(`ALTER TABLE "oauth_client" DROP CONSTRAINT "oauth_client_keys"`);
    await queryRunner.query(`
            ALTER TABLE "oauth_client"
            DROP COLUMN "keys_asked_at",
            DROP COLUMN "keys_read_at",
            DROP COLUMN "jwks_uri",
            DROP COLUMN "keys",
            DROP COLUMN "auth_method"
        `);
  }
}
