import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Every process in a row that it writes itself, and which versions the schema can be used by. */
export class ServiceInstances1798000039100 implements MigrationInterface {
  name = 'ServiceInstances1798000039100';

  public async up(queryRunner: QueryRunner): Promise<void> {
    // A row is written again every few seconds: with free space on its page, no index is touched (HOT update).
    await queryRunner.query(`
            CREATE TABLE "service_instance" ("id" uuid NOT NULL, "role" text NOT NULL, "host" text NOT NULL, "pid" integer NOT NULL,
              "version" text NOT NULL, "schema" text NOT NULL, "started_at" TIMESTAMP WITH TIME ZONE NOT NULL,
              "seen_at" TIMESTAMP WITH TIME ZONE NOT NULL, "clock_offset_ms" integer NOT NULL,
              PRIMARY KEY ("id")) WITH (fillfactor = 50)
        `);
    await queryRunner.query(`
            CREATE TABLE "schema_epoch" ("id" integer NOT NULL, "min_reader" integer NOT NULL, "min_writer" integer NOT NULL,
              PRIMARY KEY ("id"), CONSTRAINT "schema_epoch_one_row" CHECK ("id" = 1))
        `);
    await queryRunner.query(`INSERT INTO "schema_epoch" ("id", "min_reader", "min_writer") VALUES (1, 1, 1)`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "schema_epoch"`);
    await queryRunner.query(`DROP TABLE "service_instance"`);
  }
}
