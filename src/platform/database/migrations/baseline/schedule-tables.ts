/** SCHEDULE_TABLES creates the tables of `schedules`. */
export const SCHEDULE_TABLES: readonly string[] = [
  `CREATE TABLE "schedule" (
      "id" uuid NOT NULL,
      "name" text NOT NULL,
      "cron" text,
      "interval_seconds" integer,
      "time_zone" text NOT NULL DEFAULT 'UTC'::text,
      "target" text NOT NULL,
      "settings" jsonb NOT NULL DEFAULT '{}'::jsonb,
      "missed" text NOT NULL DEFAULT 'once'::text,
      "timeout_minutes" integer NOT NULL DEFAULT 1440,
      "enabled" boolean NOT NULL DEFAULT true,
      "next_due_at" timestamptz,
      "made_by" text NOT NULL,
      "version" integer NOT NULL DEFAULT 1,
      "created_at" timestamptz NOT NULL DEFAULT now(),
      "paused_because" text,
      CONSTRAINT "PK_1c05e42aec7371641193e180046" PRIMARY KEY (id)
    )`,
  `CREATE INDEX schedule_due ON schedule (next_due_at) WHERE enabled`,
  `CREATE UNIQUE INDEX schedule_name ON schedule (name)`,
];
