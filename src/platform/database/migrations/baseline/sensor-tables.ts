/** SENSOR_TABLES creates the tables of `sensors`: sensors and their commands. */
export const SENSOR_TABLES: readonly string[] = [
  `CREATE TABLE "sensor_command" (
      "id" uuid NOT NULL,
      "sensor_id" uuid NOT NULL,
      "run_id" uuid,
      "settings" jsonb NOT NULL DEFAULT '{}'::jsonb,
      "created_at" timestamptz NOT NULL DEFAULT now(),
      "taken_at" timestamptz,
      "ended_at" timestamptz,
      "ok" boolean,
      "detail" text,
      CONSTRAINT "PK_90cfc18c160d2db447d107e5ef5" PRIMARY KEY (id)
    )`,
  `CREATE INDEX sensor_command_ended ON sensor_command (ended_at) WHERE (ended_at IS NOT NULL)`,
  `CREATE INDEX sensor_command_open ON sensor_command (sensor_id, id) WHERE (ended_at IS NULL)`,
  `CREATE INDEX sensor_command_sensor ON sensor_command (sensor_id)`,
  `CREATE TABLE "sensor" (
      "id" uuid NOT NULL,
      "name" text NOT NULL,
      "kind" text NOT NULL,
      "configuration" jsonb NOT NULL DEFAULT '{}'::jsonb,
      "heartbeat_seconds" integer NOT NULL DEFAULT 60,
      "api_key_id" uuid NOT NULL,
      "enabled" boolean NOT NULL DEFAULT true,
      "software_version" text,
      "last_heartbeat_at" timestamptz NOT NULL DEFAULT now(),
      "last_address" text,
      "last_scan_at" timestamptz,
      "last_scan_assets" integer,
      "last_error" text,
      "last_error_at" timestamptz,
      "silent_since" timestamptz,
      "version" integer NOT NULL DEFAULT 1,
      "created_at" timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT "PK_ccc38b9aa8b3e198b6503d5eee9" PRIMARY KEY (id)
    )`,
  `CREATE INDEX sensor_awaited ON sensor (last_heartbeat_at) WHERE (enabled AND (silent_since IS NULL))`,
  `CREATE UNIQUE INDEX sensor_name ON sensor (name)`,
  `CREATE TABLE "sensor_api_key" (
      "api_key_id" uuid NOT NULL,
      "sensor_id" uuid NOT NULL,
      CONSTRAINT "sensor_api_key_id" PRIMARY KEY (api_key_id)
    )`,
  `CREATE INDEX sensor_api_key_sensor ON sensor_api_key (sensor_id)`,
];
