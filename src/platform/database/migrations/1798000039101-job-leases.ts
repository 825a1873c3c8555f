import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Jobs that one process does at a time hold a lease in a row, in place of a lock of a session. */
export class JobLeases1798000039101 implements MigrationInterface {
  name = 'JobLeases1798000039101';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "job_lease" ("name" text NOT NULL, "owner" uuid, "lease_until" TIMESTAMP WITH TIME ZONE NOT NULL,
              "last_success_at" TIMESTAMP WITH TIME ZONE, "last_error" text, PRIMARY KEY ("name"))
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "job_lease"`);
  }
}
