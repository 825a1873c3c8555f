import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SamlLogout1796100000000 implements MigrationInterface {
  name = 'SamlLogout1796100000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "saml_message" (
                "provider_id" uuid NOT NULL,
                "direction" text NOT NULL,
                "id_hash" bytea NOT NULL,
                "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                CONSTRAINT "PK_101efcd08ae0884fe921f672ae6" PRIMARY KEY ("provider_id", "direction", "id_hash")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "saml_message_expires" ON "saml_message" ("expires_at")
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."saml_message_expires"
        `);
    await queryRunner.query(`
            DROP TABLE "saml_message"
        `);
  }
}
