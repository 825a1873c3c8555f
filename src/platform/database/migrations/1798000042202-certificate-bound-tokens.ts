import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The client certificates that tokens are bound to. The version before issues no such tokens, and takes one that it is shown for a bearer token. */
export class CertificateBoundTokens1798000042202 implements MigrationInterface {
  name = 'CertificateBoundTokens1798000042202';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "auth_session" ADD "client_certificate" text`);
    await queryRunner.query(`ALTER TABLE "oauth_client" ADD "certificate_bound" boolean NOT NULL DEFAULT false`);
    await queryRunner.query(`ALTER TABLE "workload_trust" ADD "certificate_bound" boolean NOT NULL DEFAULT false`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "workload_trust" DROP COLUMN "certificate_bound"`);
    await queryRunner.query(`ALTER TABLE "oauth_client" DROP COLUMN "certificate_bound"`);
    // Without the certificate a bound token would become a bearer token.
    await queryRunner.query(`DELETE FROM "auth_session" WHERE client_certificate IS NOT NULL`);
    await queryRunner.query(`ALTER TABLE "auth_session" DROP COLUMN "client_certificate"`);
  }
}
