import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rules by which people and workloads get SSH certificates. The version before does not look at them. */
export class SshLoginRules1798000042101 implements MigrationInterface {
  name = 'SshLoginRules1798000042101';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "ssh_login_rule" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "authority_id" uuid NOT NULL,
                "subject" text NOT NULL,
                "conditions" jsonb NOT NULL,
                "principals" text array NOT NULL,
                "life_seconds" integer NOT NULL,
                "source_address" text,
                "bind_address" boolean NOT NULL,
                "force_command" text,
                "extensions" text array NOT NULL,
                "enabled" boolean NOT NULL DEFAULT true,
                "revision" integer NOT NULL DEFAULT 1,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "ssh_login_rule_life" CHECK (life_seconds BETWEEN 60 AND 86400),
                CONSTRAINT "PK_2b0ce7c16ed344e0616b00aa87a" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`CREATE UNIQUE INDEX "ssh_login_rule_name" ON "ssh_login_rule" ("name")`);
    await queryRunner.query(`CREATE INDEX "ssh_login_rule_authority" ON "ssh_login_rule" ("authority_id")`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "ssh_login_rule"`);
  }
}
