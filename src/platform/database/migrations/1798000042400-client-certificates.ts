import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Certificates by which OAuth clients authenticate. The version before knows neither method and refuses such a client, in whichever way it
 * authenticates; a constraint becomes wider, which it does not notice.
 */
export class ClientCertificates1798000042400 implements MigrationInterface {
  name = 'ClientCertificates1798000042400';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "oauth_client"
            ADD "certificate_rule" jsonb,
            ADD "certificates_since" TIMESTAMP WITH TIME ZONE
        `);
    await queryRunner.query(`ALTER TABLE "oauth_client" DROP CONSTRAINT "oauth_client_keys"`);
    await queryRunner.query(`
            ALTER TABLE "oauth_client" ADD CONSTRAINT "oauth_client_keys"
            CHECK ((auth_method IS NOT NULL) = (keys IS NOT NULL OR certificate_rule IS NOT NULL) AND (jwks_uri IS NULL OR keys IS NOT NULL)) NOT VALID
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "oauth_client" DROP CONSTRAINT "oauth_client_keys"`);
    // What is left of such a client authenticates by nothing.
    await queryRunner.query(`
            UPDATE "oauth_client" SET auth_method = 'private_key_jwt', keys = '[]', revoked_at = coalesce(revoked_at, now())
            WHERE certificate_rule IS NOT NULL AND keys IS NULL
        `);
    await queryRunner.query(`
            ALTER TABLE "oauth_client" ADD CONSTRAINT "oauth_client_keys"
            CHECK ((auth_method IS NOT NULL) = (keys IS NOT NULL) AND (jwks_uri IS NULL OR keys IS NOT NULL)) NOT VALID
        `);
    await queryRunner.query(`
            ALTER TABLE "oauth_client"
            DROP COLUMN "certificates_since",
            DROP COLUMN "certificate_rule"
        `);
  }
}
