import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Log1795183200000 implements MigrationInterface {
  name = 'Log1795183200000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "audit_entry" ADD "record" text`);
    await queryRunner.query(
      `CREATE TABLE "log_waiting" ("entry_id" uuid NOT NULL, CONSTRAINT "PK_log_waiting" PRIMARY KEY ("entry_id"))`,
    );
    await queryRunner.query(`
            CREATE TABLE "log_leaf" (
                "index" bigint NOT NULL,
                "entry_id" uuid NOT NULL,
                "kind" text NOT NULL,
                CONSTRAINT "PK_log_leaf" PRIMARY KEY ("index")
            )
        `);
    await queryRunner.query(`CREATE INDEX "log_leaf_entry" ON "log_leaf" ("entry_id")`);
    await queryRunner.query(`
            CREATE TABLE "log_tile" (
                "level" integer NOT NULL,
                "index" bigint NOT NULL,
                "hashes" bytea NOT NULL,
                CONSTRAINT "PK_log_tile" PRIMARY KEY ("level", "index")
            )
        `);
    // Hashes do not compress; a row that grows is written where it lies.
    await queryRunner.query(`ALTER TABLE "log_tile" ALTER "hashes" SET STORAGE EXTERNAL`);
    await queryRunner.query(`
            CREATE TABLE "log_head" (
                "only" boolean NOT NULL DEFAULT true,
                "size" bigint NOT NULL,
                CONSTRAINT "PK_log_head" PRIMARY KEY ("only")
            )
        `);
    await queryRunner.query(`INSERT INTO "log_head" ("size") VALUES (0)`);
    await queryRunner.query(`
            CREATE TABLE "log_key" (
                "id" uuid NOT NULL,
                "cka_id" bytea NOT NULL,
                "origin" text NOT NULL,
                "public_key" bytea,
                "evidence" jsonb,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_log_key" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "log_checkpoint" (
                "size" bigint NOT NULL,
                "root" bytea NOT NULL,
                "note" text NOT NULL,
                "at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_log_checkpoint" PRIMARY KEY ("size")
            )
        `);
    // What was written before there was a tree becomes its beginning.
    await queryRunner.query(`INSERT INTO "log_waiting" ("entry_id") SELECT "id" FROM "audit_entry"`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of ['log_checkpoint', 'log_key', 'log_head', 'log_tile', 'log_leaf', 'log_waiting'])
      await queryRunner.query(`DROP TABLE "${table}"`);
    await queryRunner.query(`ALTER TABLE "audit_entry" DROP COLUMN "record"`);
  }
}
