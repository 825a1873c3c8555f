import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tables whose names policies judge, and whose state and limits decide what is signed (docs/decisions/0171). */
const TABLES = ['signing_key', 'signing_key_destruction', 'ssh_authority'];

/**
 * Adds seals to keys and authorities, the second generation of sealed tables. A database whose rows of the first generation were adopted adopts these a
 * day later; one that is still being upgraded adopts both at once; a new database demands seals from the start.
 */
export class SealedSigningKeys1798000044000 implements MigrationInterface {
  name = 'SealedSigningKeys1798000044000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" ADD "seal" bytea`);
    await queryRunner.query(`ALTER TABLE "seal_format" ADD "rows_seal2" bytea`);
    await queryRunner.query(
      `UPDATE "seal_format" SET "rows_sealed_from" = now() + interval '1 day' WHERE "rows_seal" IS NOT NULL`,
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "seal_format" DROP COLUMN "rows_seal2"`);
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" DROP COLUMN "seal"`);
  }
}
