import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Restores of this database. One that is not accepted holds every process. */
export class RestoredDatabase1798000039400 implements MigrationInterface {
  name = 'RestoredDatabase1798000039400';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "restored_database" ("id" uuid NOT NULL, "backup" text NOT NULL, "made_at" TIMESTAMP WITH TIME ZONE NOT NULL,
              "restored_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(), "accepted_at" TIMESTAMP WITH TIME ZONE, PRIMARY KEY ("id"))
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "restored_database"`);
  }
}
