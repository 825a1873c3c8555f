import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The keys that tokens are bound to. The version before issues no bound tokens, and takes one that it is shown for a bearer token. */
export class BoundTokens1798000042201 implements MigrationInterface {
  name = 'BoundTokens1798000042201';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "auth_session" ADD "dpop_key" text`);
    await queryRunner.query(`ALTER TABLE "oauth_client" ADD "dpop_bound" boolean NOT NULL DEFAULT false`);
    await queryRunner.query(`ALTER TABLE "workload_trust" ADD "dpop_bound" boolean NOT NULL DEFAULT false`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "workload_trust" DROP COLUMN "dpop_bound"`);
    await queryRunner.query(`ALTER TABLE "oauth_client" DROP COLUMN "dpop_bound"`);
    // Without the key a bound token would become a bearer token.
    await queryRunner.query(`DELETE FROM "auth_session" WHERE dpop_key IS NOT NULL`);
    await queryRunner.query(`ALTER TABLE "auth_session" DROP COLUMN "dpop_key"`);
  }
}
