import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What shows that the service wrote an audit entry; entries of earlier versions have none. */
export class SealedEntries1797200000030 implements MigrationInterface {
  name = 'SealedEntries1797200000030';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "audit_entry" ADD "seal" bytea`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "audit_entry" DROP COLUMN "seal"`);
  }
}
