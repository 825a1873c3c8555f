/** AUDIT_TABLES creates the tables of `audit`: the audit log, its tree and its streams. */
export const AUDIT_TABLES: readonly string[] = [
  `CREATE TABLE "audit_entry" (
      "id" uuid NOT NULL,
      "at" timestamptz NOT NULL DEFAULT now(),
      "action" text NOT NULL,
      "outcome" text NOT NULL,
      "actor_kind" text NOT NULL,
      "actor_id" text NOT NULL,
      "actor_name" text NOT NULL,
      "target_kind" text NOT NULL,
      "target_id" text NOT NULL,
      "correlation" text NOT NULL,
      "source" text NOT NULL,
      "detail" jsonb NOT NULL DEFAULT '{}'::jsonb,
      "record" text,
      "seal" bytea,
      CONSTRAINT "PK_58a130a4b9da189f46ba2a01801" PRIMARY KEY (id)
    )`,
  `CREATE INDEX audit_entry_action ON audit_entry (action, at)`,
  `CREATE INDEX audit_entry_actor ON audit_entry (actor_id, at)`,
  `CREATE INDEX audit_entry_at ON audit_entry (at, id)`,
  `CREATE INDEX audit_entry_correlation ON audit_entry (correlation, at) WHERE (outcome <> 'done'::text)`,
  `CREATE INDEX audit_entry_not_done ON audit_entry (at) WHERE (outcome <> 'done'::text)`,
  `CREATE INDEX audit_entry_target ON audit_entry (target_id, at)`,
  `CREATE TABLE "log_waiting" (
      "entry_id" uuid NOT NULL,
      CONSTRAINT "PK_log_waiting" PRIMARY KEY (entry_id)
    )`,
  `CREATE TABLE "log_leaf" (
      "index" bigint NOT NULL,
      "entry_id" uuid NOT NULL,
      "kind" text NOT NULL,
      CONSTRAINT "PK_log_leaf" PRIMARY KEY (index)
    )`,
  `CREATE INDEX log_leaf_entry ON log_leaf (entry_id)`,
  `CREATE TABLE "log_tile" (
      "level" integer NOT NULL,
      "index" bigint NOT NULL,
      "hashes" bytea NOT NULL,
      CONSTRAINT "PK_log_tile" PRIMARY KEY (level, index)
    )`,
  `ALTER TABLE "log_tile" ALTER COLUMN "hashes" SET STORAGE EXTERNAL`,
  `CREATE TABLE "log_head" (
      "only" boolean NOT NULL DEFAULT true,
      "size" bigint NOT NULL,
      CONSTRAINT "PK_log_head" PRIMARY KEY ("only")
    )`,
  `CREATE TABLE "log_key" (
      "id" uuid NOT NULL,
      "cka_id" bytea NOT NULL,
      "origin" text NOT NULL,
      "public_key" bytea,
      "evidence" jsonb,
      "created_at" timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT "PK_log_key" PRIMARY KEY (id)
    )`,
  `CREATE TABLE "log_checkpoint" (
      "size" bigint NOT NULL,
      "root" bytea NOT NULL,
      "note" text NOT NULL,
      "at" timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT "PK_log_checkpoint" PRIMARY KEY (size)
    )`,
  `CREATE TABLE "audit_stream" (
      "id" text NOT NULL,
      "position" bigint NOT NULL,
      "fence" bigint NOT NULL DEFAULT 0,
      "due_at" timestamptz NOT NULL DEFAULT now(),
      "failures" integer NOT NULL DEFAULT 0,
      "last_error" text,
      "last_success_at" timestamptz,
      "created_at" timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT "audit_stream_pkey" PRIMARY KEY (id)
    )`,
  `CREATE TABLE "restored_database" (
      "id" uuid NOT NULL,
      "backup" text NOT NULL,
      "made_at" timestamptz NOT NULL,
      "restored_at" timestamptz NOT NULL DEFAULT now(),
      "accepted_at" timestamptz,
      CONSTRAINT "restored_database_pkey" PRIMARY KEY (id)
    )`,
  `CREATE TABLE "rights_snapshot" (
      "only" boolean NOT NULL DEFAULT true,
      "size" bigint NOT NULL,
      "content" text NOT NULL,
      "seal" bytea NOT NULL,
      CONSTRAINT "PK_459f85f084f3302a35810e48849" PRIMARY KEY ("only")
    )`,
  `CREATE FUNCTION audit_entry_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'audit entries are final'; END $$`,
  `CREATE TRIGGER audit_entry_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_is_final()`,
  `INSERT INTO "log_head" ("size") VALUES (0)`,
];
