import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a verdict says stands once, with the verdict, instead of with every asset that shares it (docs/decisions/0068). */
export class FactsOfVerdicts1796600000003 implements MigrationInterface {
  name = 'FactsOfVerdicts1796600000003';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "risk_verdict"
            ADD "kind" text,
            ADD "family" text,
            ADD "bits" integer,
            ADD "level" smallint,
            ADD "quantum" text,
            ADD "classical" text,
            ADD "rule" text,
            ADD "deadline" date,
            ADD "changed_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now()
        `);
    await queryRunner.query(`
            UPDATE "risk_verdict"
            SET "kind" = "subject"->>'kind',
                "family" = "verdict"->>'family',
                "bits" = ("verdict"->>'bits')::integer,
                "level" = array_position('{NONE,LOW,MEDIUM,HIGH,CRITICAL}', "verdict"->>'level') - 1,
                "quantum" = "verdict"->'quantum'->>'status',
                "classical" = "verdict"->'classical'->>'status',
                "rule" = "verdict"->>'rule',
                "deadline" = ("verdict"->>'deadline')::date,
                "changed_at" = '-infinity'
        `);
    await queryRunner.query(`
            ALTER TABLE "risk_verdict"
            ALTER "kind" SET NOT NULL,
            ALTER "level" SET NOT NULL,
            ALTER "quantum" SET NOT NULL,
            ALTER "classical" SET NOT NULL
        `);
    await queryRunner.query(`
            DROP STATISTICS "asset_facts_together"
        `);
    await queryRunner.query(`
            ALTER TABLE "asset"
            DROP COLUMN "family",
            DROP COLUMN "bits",
            DROP COLUMN "level",
            DROP COLUMN "quantum",
            DROP COLUMN "classical",
            DROP COLUMN "rule",
            DROP COLUMN "deadline",
            ALTER "resolved_by" TYPE json
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_component" ON "asset" ("id") WHERE kind = 'component'
        `);
    await queryRunner.query(`
            CREATE VIEW "judged_asset" AS
            SELECT a.id, a.kind, a.name, a.verdict_id, a.resolved_by, a.not_before, a.not_after, a.component, a.content,
                   a.state, a.owner, a.labels, a.version, a.first_seen, greatest(a.changed_at, v.changed_at) AS changed_at,
                   v.kind AS judged_as, v.family, v.bits, v.level, v.quantum, v.classical, v.rule, v.deadline
            FROM asset a LEFT JOIN risk_verdict v ON v.id = a.verdict_id
        `);
    // What is there already changes too little to be analysed soon.
    await queryRunner.query(`
            ANALYZE "asset", "risk_verdict"
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP VIEW "judged_asset"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."asset_component"
        `);
    await queryRunner.query(`
            ALTER TABLE "asset"
            ADD "family" text,
            ADD "bits" integer,
            ADD "level" smallint,
            ADD "quantum" text,
            ADD "classical" text,
            ADD "rule" text,
            ADD "deadline" date,
            ALTER "resolved_by" TYPE jsonb
        `);
    await queryRunner.query(`
            UPDATE "asset" a
            SET "family" = v."family", "bits" = v."bits", "level" = v."level", "quantum" = v."quantum",
                "classical" = v."classical", "rule" = v."rule", "deadline" = v."deadline"
            FROM "risk_verdict" v WHERE v."id" = a."verdict_id"
        `);
    await queryRunner.query(`
            CREATE INDEX "asset_facts" ON "asset" ("kind", "level", "family", "quantum", "classical")
        `);
    await queryRunner.query(`
            CREATE STATISTICS "asset_facts_together" (mcv) ON "kind", "level", "family", "quantum", "classical" FROM "asset"
        `);
    await queryRunner.query(`
            ALTER TABLE "risk_verdict"
            DROP COLUMN "kind",
            DROP COLUMN "family",
            DROP COLUMN "bits",
            DROP COLUMN "level",
            DROP COLUMN "quantum",
            DROP COLUMN "classical",
            DROP COLUMN "rule",
            DROP COLUMN "deadline",
            DROP COLUMN "changed_at"
        `);
  }
}
