import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Rules1795190079085 implements MigrationInterface {
  name = 'Rules1795190079085';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "risk_rule_set" (
                "version" integer NOT NULL,
                "edition" text NOT NULL,
                "rules" jsonb NOT NULL,
                "changed_rule" text NOT NULL,
                "created_by" text NOT NULL,
                "status" text NOT NULL DEFAULT 'JUDGING',
                "total" integer NOT NULL DEFAULT '0',
                "judged" integer NOT NULL DEFAULT '0',
                "changed_assets" integer NOT NULL DEFAULT '0',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "finished_at" TIMESTAMP WITH TIME ZONE,
                CONSTRAINT "PK_b5e0bfd0f1e8977027c4d3d7a81" PRIMARY KEY ("version")
            )
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP TABLE "risk_rule_set"
        `);
  }
}
