import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rules that a new installation begins with; people change or remove them like their own. */
const FIRST_RULES = [
  ['019a0000-0000-7000-8000-000000000001', 'HSM does not answer', 'hsm-down', {}, 'critical', 'subject'],
  ['019a0000-0000-7000-8000-000000000002', 'Sensors that fall silent', 'sensor-silent', {}, 'warning', 'subject'],
  ['019a0000-0000-7000-8000-000000000003', 'Failed scans', 'scan-failed', {}, 'warning', 'subject'],
  [
    '019a0000-0000-7000-8000-000000000004',
    'Certificates that end within 30 days',
    'certificate-expiring',
    { days: 30 },
    'warning',
    'subject',
  ],
  [
    '019a0000-0000-7000-8000-000000000005',
    'Critical assets',
    'risk-threshold',
    { level: 'CRITICAL' },
    'warning',
    'subject',
  ],
  [
    '019a0000-0000-7000-8000-000000000006',
    'Rotations that need a person',
    'rotation-critical',
    {},
    'critical',
    'subject',
  ],
  ['019a0000-0000-7000-8000-000000000007', 'Removed keys that come back', 'drift', {}, 'critical', 'subject'],
  ['019a0000-0000-7000-8000-000000000008', 'Violated policies', 'policy-violation', {}, 'warning', 'subject'],
] as const;

export class Alerts1795190100002 implements MigrationInterface {
  name = 'Alerts1795190100002';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "alert" (
                "id" uuid NOT NULL,
                "rule_id" uuid NOT NULL,
                "key" text NOT NULL,
                "status" text NOT NULL DEFAULT 'OPEN',
                "severity" text NOT NULL,
                "title" text NOT NULL,
                "subject_kind" text NOT NULL,
                "subject_id" text NOT NULL,
                "subject_name" text NOT NULL,
                "facts" jsonb NOT NULL DEFAULT '{}',
                "count" integer NOT NULL DEFAULT '1',
                "first_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "last_at" TIMESTAMP WITH TIME ZONE NOT NULL,
                "owner_id" uuid,
                "muted_until" TIMESTAMP WITH TIME ZONE,
                "resolved_at" TIMESTAMP WITH TIME ZONE,
                "resolved_by" text,
                "notify_at" TIMESTAMP WITH TIME ZONE,
                "notified_at" TIMESTAMP WITH TIME ZONE,
                "notified_count" integer NOT NULL DEFAULT '0',
                "notified_status" text,
                "version" integer NOT NULL DEFAULT '1',
                CONSTRAINT "alert_of_rule" UNIQUE ("rule_id", "key"),
                CONSTRAINT "PK_ad91cad659a3536465d564a4b2f" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "alert_to_notify" ON "alert" ("notify_at")
            WHERE notify_at IS NOT NULL
        `);
    await queryRunner.query(`
            CREATE INDEX "alert_status" ON "alert" ("status", "id")
        `);
    await queryRunner.query(`
            CREATE TABLE "alert_notification" (
                "id" uuid NOT NULL,
                "alert_id" uuid NOT NULL,
                "reason" text NOT NULL,
                "count" integer NOT NULL,
                "channel" text NOT NULL,
                "reference" uuid NOT NULL,
                "at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_58ccb2a75a3235a04b95e227729" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "alert_notification_alert" ON "alert_notification" ("alert_id", "id")
        `);
    await queryRunner.query(`
            CREATE TABLE "alert_rule" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "condition" text NOT NULL,
                "parameters" jsonb NOT NULL DEFAULT '{}',
                "severity" text NOT NULL,
                "grouping" text NOT NULL,
                "cool_down_minutes" integer NOT NULL DEFAULT '60',
                "emails" text array NOT NULL,
                "webhooks" uuid array NOT NULL,
                "enabled" boolean NOT NULL DEFAULT true,
                "muted_until" TIMESTAMP WITH TIME ZONE,
                "version" integer NOT NULL DEFAULT '1',
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_e9bf555f33872d7b50eb2421a17" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE UNIQUE INDEX "alert_rule_name" ON "alert_rule" ("name")
        `);
    await queryRunner.query(`
            CREATE TABLE "happening" (
                "id" uuid NOT NULL,
                "type" text NOT NULL,
                "subject_kind" text NOT NULL,
                "subject_id" text NOT NULL,
                "subject_name" text NOT NULL,
                "at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "count" integer NOT NULL DEFAULT '1',
                "facts" jsonb NOT NULL DEFAULT '{}',
                "over" boolean NOT NULL DEFAULT false,
                CONSTRAINT "PK_a62fae01d68950799598f7cbfc5" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            ALTER TABLE "mail_message"
            ADD "html" bytea
        `);
    for (const [id, name, condition, parameters, severity, grouping] of FIRST_RULES) {
      await queryRunner.query(
        `INSERT INTO alert_rule (id, name, condition, parameters, severity, grouping, emails, webhooks)
         VALUES ($1, $2, $3, $4, $5, $6, '{}', '{}')`,
        [id, name, condition, parameters, severity, grouping],
      );
    }
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "mail_message" DROP COLUMN "html"
        `);
    await queryRunner.query(`
            DROP TABLE "happening"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."alert_rule_name"
        `);
    await queryRunner.query(`
            DROP TABLE "alert_rule"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."alert_notification_alert"
        `);
    await queryRunner.query(`
            DROP TABLE "alert_notification"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."alert_status"
        `);
    await queryRunner.query(`
            DROP INDEX "public"."alert_to_notify"
        `);
    await queryRunner.query(`
            DROP TABLE "alert"
        `);
  }
}
