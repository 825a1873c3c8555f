import type { MigrationInterface, QueryRunner } from 'typeorm';

export class HostAuthorities1796500000002 implements MigrationInterface {
  name = 'HostAuthorities1796500000002';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "host_authority" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "fingerprint" text NOT NULL,
                "type" text NOT NULL,
                "blob" bytea NOT NULL,
                "created_by" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_3160ee8f2722124e9b4fc72b609" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`CREATE UNIQUE INDEX "host_authority_fingerprint" ON "host_authority" ("fingerprint")`);
    await queryRunner.query(`ALTER TABLE "host_key" ADD "certificate" bytea`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "host_key" DROP COLUMN "certificate"`);
    await queryRunner.query(`DROP TABLE "host_authority"`);
  }
}
