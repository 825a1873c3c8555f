import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CatalogueReader, openCatalogue } from '../support/catalogue-sql.js';
import { openStage, type Stage } from '../support/stage.js';

/** Schema changes with which a database owner can falsify the results of the service's statements, each with the finding that reports the change. */
const CHANGES: Readonly<Record<string, readonly [ddl: string, found: string]>> = {
  'a view in place of a table': [
    'ALTER TABLE audit_entry RENAME TO real; CREATE VIEW audit_entry AS SELECT * FROM real',
    'relation public.audit_entry',
  ],
  'a table of the same name in a schema that is searched first': [
    "DO $$ BEGIN EXECUTE format('CREATE SCHEMA %I', current_user); EXECUTE format('CREATE TABLE %I.audit_entry (id int)', current_user); END $$",
    'relation audit_entry',
  ],
  'a table that was moved away': ['ALTER TABLE approval_vote RENAME TO elsewhere', 'relation approval_vote'],
  'a trigger': [
    `CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
     CREATE TRIGGER aaa BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION evil()`,
    'trigger public.audit_entry aaa',
  ],
  'a trigger of the service that is disabled': [
    'ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_is_final',
    'disabled-trigger public.audit_entry audit_entry_is_final',
  ],
  'a trigger of the same name that calls another function': [
    `CREATE SCHEMA away; CREATE FUNCTION away.audit_entry_is_final() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
     DROP TRIGGER audit_entry_is_final ON audit_entry;
     CREATE TRIGGER audit_entry_is_final BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION away.audit_entry_is_final()`,
    'trigger public.audit_entry audit_entry_is_final',
  ],
  'a trigger of the same name and function that fires at other times': [
    `DROP TRIGGER audit_entry_is_final ON audit_entry;
     CREATE TRIGGER audit_entry_is_final BEFORE INSERT ON audit_entry FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_is_final()`,
    'trigger public.audit_entry audit_entry_is_final',
  ],
  'a trigger of the same name that a condition suppresses': [
    `DROP TRIGGER audit_entry_is_final ON audit_entry;
     CREATE TRIGGER audit_entry_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry FOR EACH STATEMENT WHEN (false)
       EXECUTE FUNCTION audit_entry_is_final()`,
    'trigger public.audit_entry audit_entry_is_final',
  ],
  'a trigger of the service that was removed': [
    'DROP TRIGGER audit_entry_is_final ON audit_entry',
    'missing-trigger audit_entry audit_entry_is_final',
  ],
  'a function of the service with another body': [
    'CREATE OR REPLACE FUNCTION audit_entry_is_final() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$',
    'function public.audit_entry_is_final()',
  ],
  'a function that PostgreSQL prefers to its own': [
    `CREATE FUNCTION to_jsonb(user_account) RETURNS jsonb LANGUAGE sql AS $$ SELECT '{}'::jsonb $$`,
    'function public.to_jsonb(user_account)',
  ],
  'an operator': [
    `CREATE FUNCTION evil(varchar, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
     CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = text, FUNCTION = evil)`,
    'operator =(character varying,text)',
  ],
  'an operator that hides itself and others': [
    `CREATE SCHEMA away; CREATE FUNCTION away.yes(oid, regproc) RETURNS boolean LANGUAGE sql AS 'SELECT true';
     CREATE OPERATOR = (LEFTARG = oid, RIGHTARG = regproc, FUNCTION = away.yes)`,
    'operator =(oid,regproc)',
  ],
  'a cast': [
    `CREATE TYPE pair AS (a text, b text); CREATE FUNCTION evil(pair) RETURNS text LANGUAGE sql AS $$ SELECT '' $$;
     CREATE CAST (pair AS text) WITH FUNCTION evil(pair) AS ASSIGNMENT`,
    'cast pair to text',
  ],
  'a rule': ['CREATE RULE quiet AS ON INSERT TO audit_entry DO INSTEAD NOTHING', 'rule public.audit_entry quiet'],
  'row-level security': ['ALTER TABLE audit_entry ENABLE ROW LEVEL SECURITY', 'row-security public.audit_entry'],
  'a table that inherits rows': ['CREATE TABLE child () INHERITS (audit_entry)', 'inheritance child'],
  'a foreign key through which an update runs the trigger of another table': [
    `CREATE SCHEMA away; ALTER TABLE approval ADD CONSTRAINT approval_states UNIQUE (id, status);
     CREATE TABLE away.shadow (id uuid, status text, FOREIGN KEY (id, status) REFERENCES approval (id, status) ON UPDATE CASCADE);
     CREATE FUNCTION away.evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
     CREATE TRIGGER evil BEFORE UPDATE ON away.shadow FOR EACH ROW EXECUTE FUNCTION away.evil()`,
    'foreign-key public.approval shadow_id_status_fkey',
  ],
  'a foreign key of a table of the service': [
    `CREATE SCHEMA away; CREATE TABLE away.shadow (id uuid PRIMARY KEY);
     ALTER TABLE approval ADD CONSTRAINT evil FOREIGN KEY (id) REFERENCES away.shadow ON DELETE CASCADE NOT VALID`,
    'foreign-key public.approval evil',
  ],
  'a default that calls a function': [
    `ALTER TABLE approval ALTER COLUMN title SET DEFAULT set_config('search_path', 'evil', false)`,
    'expression public.approval.title',
  ],
  'a check that calls a function': [
    `ALTER TABLE approval ADD CONSTRAINT evil CHECK (pg_sleep(0)::text IS NOT NULL) NOT VALID`,
    'expression public.approval evil',
  ],
  'a function in another schema that an index calls': [
    `CREATE SCHEMA away; CREATE FUNCTION away."AND"(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1';
     CREATE INDEX evil ON approval (away."AND"(title))`,
    'expression evil',
  ],
  'a function with the name of one that indexes call': [
    `CREATE SCHEMA away; CREATE FUNCTION away."left"(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1';
     CREATE INDEX evil ON approval (away."left"(title))`,
    'expression evil',
  ],
  'a column of another type': [
    `CREATE DOMAIN loose AS text; ALTER TABLE approval ALTER COLUMN title TYPE loose`,
    'type public.approval.title',
  ],
};

let stage: Stage;
let catalogue: CatalogueReader;

beforeAll(async () => {
  stage = await openStage();
  catalogue = await openCatalogue(stage.settings);
});
afterAll(async () => {
  await catalogue.close();
  await stage.close();
});

describe('the catalog check', () => {
  it('finds nothing in a migrated schema, with and without the search extension', async () => {
    expect(await catalogue.findings()).toEqual([]);
    const searches = `CREATE EXTENSION IF NOT EXISTS pg_trgm; CREATE INDEX asset_name_text ON asset USING gin (name gin_trgm_ops);
      CREATE INDEX asset_occurrence_place ON asset_occurrence ("left"(location, 32) text_pattern_ops) WHERE location <> ''`;
    expect(await catalogue.findingsAfter(searches)).toEqual([]);
    const ofOthers = `CREATE EXTENSION pg_stat_statements; CREATE VIEW of_others AS SELECT upper(title) FROM approval;
      CREATE MATERIALIZED VIEW sums AS SELECT count(*) FROM asset; CREATE TABLE theirs (id uuid DEFAULT gen_random_uuid()) PARTITION BY HASH (id);
      CREATE INDEX theirs_by_name ON asset (md5(name))`;
    expect(await catalogue.findingsAfter(ofOthers)).toEqual([]);
  });

  it.each(Object.entries(CHANGES))('finds %s', async (_name, [ddl, found]) => {
    expect(await catalogue.findingsAfter(ddl)).toContain(found);
    expect(await catalogue.findings()).toEqual([]);
    // A vote is refused after the change, even if the fingerprint of the unchanged catalogue is already cached.
    expect(await catalogue.isRefusedAfter(ddl)).toBe(!/^(?:disabled|missing)-trigger/.test(found));
  });

  it('finds a function added to an extension', async () => {
    const ddl = `CREATE EXTENSION IF NOT EXISTS pg_trgm; CREATE FUNCTION sneaky() RETURNS int LANGUAGE sql AS 'SELECT 1';
      ALTER EXTENSION pg_trgm ADD FUNCTION sneaky()`;
    expect(await catalogue.findingsAfter(ddl)).toContain('function public.sneaky()');
  });
});
