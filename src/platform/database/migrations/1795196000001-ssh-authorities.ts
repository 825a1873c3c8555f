import { MigrationInterface, QueryRunner } from 'typeorm';

export class SshAuthorities1795196000001 implements MigrationInterface {
  name = 'SshAuthorities1795196000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "ssh_authority" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "kind" text NOT NULL,
                "state" text NOT NULL DEFAULT 'ACTIVE',
                "cka_id" bytea NOT NULL,
                "public_key" bytea NOT NULL,
                "serial" bigint NOT NULL DEFAULT '0',
                "list_version" integer NOT NULL DEFAULT '0',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "ssh_authority_name" UNIQUE ("name"),
                CONSTRAINT "PK_e0fae9df2545357d4272d3a7f4f" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE TABLE "ssh_certificate" (
                "id" uuid NOT NULL,
                "authority_id" uuid NOT NULL,
                "serial" bigint NOT NULL,
                "key_id" text NOT NULL,
                "fingerprint" text NOT NULL,
                "principals" text array NOT NULL,
                "valid_after" TIMESTAMP WITH TIME ZONE NOT NULL,
                "valid_before" TIMESTAMP WITH TIME ZONE NOT NULL,
                "certificate" text,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_61918f73854494a0a017029a2d8" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "ssh_certificate_serial" ON "ssh_certificate" ("authority_id", "serial")
        `);
    await queryRunner.query(`
            CREATE TABLE "ssh_revocation" (
                "id" uuid NOT NULL,
                "authority_id" uuid NOT NULL,
                "kind" text NOT NULL,
                "value" text NOT NULL,
                "reason" text,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "ssh_revocation_value" UNIQUE ("authority_id", "kind", "value"),
                CONSTRAINT "PK_1f712dfff10ec79686bb175276d" PRIMARY KEY ("id")
            )
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP TABLE "ssh_revocation"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."ssh_certificate_serial"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_certificate"
        `);
    await queryRunner.query(`
            DROP TABLE "ssh_authority"
        `);
  }
}
