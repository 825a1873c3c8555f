import { createHash } from 'node:crypto';

/** CatalogueObject is a database object returned by READ_CATALOGUE. */
export interface CatalogueObject {
  readonly kind:
    | 'relation'
    | 'row-security'
    | 'rule'
    | 'trigger'
    | 'function'
    | 'operator'
    | 'cast'
    | 'inheritance'
    | 'foreign-key'
    | 'type'
    | 'expression'
    | 'setting';
  readonly name: string;
  /** Depends on `kind`: for example, the relation's kind, the trigger's function and state, the function's source, or the expression's text. */
  readonly definition: string;
}

/** Views created by migrations. */
const VIEWS = new Set(['judged_asset']);

/** Schemas on the search path of the service. */
const PATH = `SELECT n.oid, n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname = ANY (pg_catalog.current_schemas(false))`;
/** Smallest OID of objects that initdb did not create. */
const FIRST_NORMAL_OID = 16_384;
/** SQL condition for extension functions written in C. A database owner can add functions to an extension, but not functions in C. */
const IS_OF_EXTENSION = (oid: string) =>
  `EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = ${oid} AND d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.deptype = 'e')
     AND EXISTS (SELECT FROM pg_catalog.pg_proc x JOIN pg_catalog.pg_language l ON l.oid = x.prolang WHERE x.oid = ${oid} AND l.lanname = 'c')`;

/**
 * Returns the query with qualified operators. PostgreSQL prefers an operator in another schema if its types match better than the types of the built-in
 * operator, for example `oid = regproc`.
 */
function withBuiltInOperators(sql: string): string {
  return ['=', '<>', '>=', '>', '||'].reduce(
    (text, operator) => text.replaceAll(` ${operator} `, ` OPERATOR(pg_catalog.${operator}) `),
    sql,
  );
}

/**
 * READ_CATALOGUE is the query that lists objects that can change the meaning of statements: functions and operators in the schemas of the search path, and
 * casts that use user-defined functions or convert between built-in types. For the relations of the service, whose names are the parameter, the query lists
 * everything except plain columns, indexes and constraints other than foreign keys: a foreign key with ON UPDATE CASCADE makes a statement update another
 * table, whose triggers then run. All names and operators in the query are qualified, so that no name resolves to an object that an attacker placed in the
 * search path.
 */
export const READ_CATALOGUE = withBuiltInOperators(`
  WITH path AS (${PATH}),
    relation AS (SELECT p.nspname || '.' || c.relname AS name, c.* FROM pg_catalog.pg_class c JOIN path p ON p.oid = c.relnamespace
      WHERE c.relname = ANY ($1::pg_catalog.text[]) OR c.relname = ANY (ARRAY[${[...VIEWS].map((name) => `'${name}'`).join()}]))
  SELECT 'relation' AS kind, r.name, r.relkind::text AS definition FROM relation r WHERE r.relkind = ANY (ARRAY['v', 'm', 'f', 'p'])
  UNION ALL SELECT 'row-security', r.name, '' FROM relation r WHERE r.relrowsecurity OR r.relforcerowsecurity
  UNION ALL SELECT 'rule', r.name || ' ' || w.rulename, '' FROM pg_catalog.pg_rewrite w JOIN relation r ON r.oid = w.ev_class
    WHERE r.relkind <> 'v' OR w.rulename <> '_RETURN'
  UNION ALL SELECT 'trigger', r.name || ' ' || t.tgname, pg_catalog.concat_ws(' ', t.tgfoid::pg_catalog.regproc, t.tgenabled, t.tgtype, CASE WHEN t.tgqual IS NOT NULL THEN 'WHEN' END,
      CASE WHEN t.tgattr::text <> '' THEN 'OF' END, CASE WHEN t.tgnargs > 0 THEN 'args' END, CASE WHEN t.tgconstraint <> 0 THEN 'constraint' END)
    FROM pg_catalog.pg_trigger t JOIN relation r ON r.oid = t.tgrelid WHERE NOT t.tgisinternal OR t.tgenabled <> 'O'
  UNION ALL SELECT 'function', p.nspname || '.' || f.proname || '(' || pg_catalog.pg_get_function_identity_arguments(f.oid) || ')', f.prosrc
    FROM pg_catalog.pg_proc f JOIN path p ON p.oid = f.pronamespace WHERE NOT (${IS_OF_EXTENSION('f.oid')})
  UNION ALL SELECT 'operator', o.oid::pg_catalog.regoperator::text, '' FROM pg_catalog.pg_operator o JOIN path p ON p.oid = o.oprnamespace
    WHERE NOT (${IS_OF_EXTENSION('o.oprcode')})
  UNION ALL SELECT 'cast', pg_catalog.format_type(c.castsource, NULL) || ' to ' || pg_catalog.format_type(c.casttarget, NULL), ''
    FROM pg_catalog.pg_cast c WHERE c.oid >= ${FIRST_NORMAL_OID} AND NOT (
      (c.castsource >= ${FIRST_NORMAL_OID} OR c.casttarget >= ${FIRST_NORMAL_OID}) AND (c.castfunc < ${FIRST_NORMAL_OID} OR ${IS_OF_EXTENSION('c.castfunc')}))
  UNION ALL SELECT 'inheritance', r.name, i.inhparent::pg_catalog.regclass::text FROM pg_catalog.pg_inherits i JOIN relation r ON r.oid = i.inhrelid
  UNION ALL SELECT 'inheritance', i.inhrelid::pg_catalog.regclass::text, r.name FROM pg_catalog.pg_inherits i JOIN relation r ON r.oid = i.inhparent
  UNION ALL SELECT 'foreign-key', r.name || ' ' || k.conname, '' FROM pg_catalog.pg_constraint k JOIN relation r ON r.oid = k.conrelid OR r.oid = k.confrelid
    WHERE k.contype = 'f'
  UNION ALL SELECT 'type', r.name || '.' || a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)
    FROM pg_catalog.pg_attribute a JOIN relation r ON r.oid = a.attrelid AND r.relkind = 'r'
    WHERE a.attnum > 0 AND NOT a.attisdropped AND (a.atttypid >= ${FIRST_NORMAL_OID} OR a.attcollation >= ${FIRST_NORMAL_OID})
  UNION ALL SELECT 'expression', r.name || '.' || a.attname, pg_catalog.pg_get_expr(e.adbin, e.adrelid)
    FROM pg_catalog.pg_attrdef e JOIN relation r ON r.oid = e.adrelid JOIN pg_catalog.pg_attribute a ON a.attrelid = e.adrelid AND a.attnum = e.adnum
  UNION ALL SELECT 'expression', r.name || ' ' || k.conname, pg_catalog.pg_get_constraintdef(k.oid)
    FROM pg_catalog.pg_constraint k JOIN relation r ON r.oid = k.conrelid WHERE k.contype = ANY (ARRAY['c', 'x'])
  UNION ALL SELECT 'expression', i.indexrelid::pg_catalog.regclass::text,
      pg_catalog.concat_ws(' ', pg_catalog.pg_get_expr(i.indexprs, i.indrelid), pg_catalog.pg_get_expr(i.indpred, i.indrelid))
    FROM pg_catalog.pg_index i JOIN relation r ON r.oid = i.indrelid WHERE i.indexprs IS NOT NULL OR i.indpred IS NOT NULL
  UNION ALL SELECT 'expression', r.name, pg_catalog.pg_get_viewdef(r.oid) FROM relation r WHERE r.relkind = 'v'
  UNION ALL SELECT 'relation', t.name, coalesce(c.relkind::text || ' ' || c.relnamespace::pg_catalog.regnamespace::text, 'missing')
    FROM pg_catalog.unnest($1::pg_catalog.text[]) AS t (name)
    LEFT JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(pg_catalog.quote_ident(t.name))
    WHERE c.oid IS NULL OR c.relkind <> 'r' OR c.relnamespace <> (SELECT m.relnamespace FROM pg_catalog.pg_class m WHERE m.oid = pg_catalog.to_regclass('migrations'))
  UNION ALL SELECT 'setting', s.name, s.value FROM (VALUES ('session_replication_role', pg_catalog.current_setting('session_replication_role'))) AS s (name, value)
    WHERE s.value <> 'origin'`);

const rowsOf = (catalogue: string, id = 'oid', where = `oid >= ${FIRST_NORMAL_OID}`) =>
  `SELECT '${catalogue}' AS catalogue, ${id} AS id, xmin::text AS version FROM pg_catalog.${catalogue} WHERE ${where}`;

/**
 * CATALOGUE_FINGERPRINT is SQL for a fingerprint of the catalogue: the ID and writing transaction of each row that READ_CATALOGUE may read. An unchanged
 * fingerprint means unchanged findings. Computing the fingerprint takes a fraction of the time that READ_CATALOGUE takes.
 */
export const CATALOGUE_FINGERPRINT = withBuiltInOperators(`
  SELECT pg_catalog.concat_ws(' ', pg_catalog.current_schemas(false)::text, pg_catalog.current_setting('session_replication_role'),
    pg_catalog.md5(pg_catalog.string_agg(pg_catalog.concat_ws(' ', catalogue, id, version), ',' ORDER BY catalogue, id, version))) AS fingerprint
  FROM (${[
    rowsOf('pg_class', 'oid', `oid >= ${FIRST_NORMAL_OID} AND relpersistence <> 't' AND relkind <> 't'`),
    rowsOf('pg_type', 'oid', `oid >= ${FIRST_NORMAL_OID} AND typtype <> 'c' AND typelem = 0`),
    rowsOf('pg_attribute', 'attrelid', `atttypid >= ${FIRST_NORMAL_OID} OR attcollation >= ${FIRST_NORMAL_OID}`),
    rowsOf('pg_inherits', 'inhrelid', 'true'),
    rowsOf('pg_index', 'indexrelid', `indexrelid >= ${FIRST_NORMAL_OID}`),
    ...['pg_proc', 'pg_trigger', 'pg_rewrite', 'pg_attrdef', 'pg_constraint'].map((one) => rowsOf(one)),
    ...['pg_operator', 'pg_cast', 'pg_namespace', 'pg_policy'].map((one) => rowsOf(one)),
  ].join(' UNION ALL ')}) AS item`);

/**
 * Triggers created by migrations, with their function, their enabled state, and the bits of pg_trigger.tgtype: timing, statements, and row or statement
 * level.
 */
const TRIGGERS = new Map([
  ['audit_entry audit_entry_is_final', 'audit_entry_is_final O 58'],
  ['inventory_snapshot inventory_snapshot_is_final', 'inventory_snapshot_is_final O 27'],
]);
/** Functions created by migrations, with the SHA-256 of their source. */
const FUNCTIONS = new Map([
  ['audit_entry_is_final()', '283ec359a8bc6ed357f3090c7ec123e4311183fbf69168080ca7e5388f8e3890'],
  ['inventory_snapshot_is_final()', '2549ae0ba1b92c8c77d2e0e5b33de2ad8bf13f07dec116898dd89bfa9cd600d3'],
]);

/** Names that may precede a parenthesis in defaults, constraints, indexes and views: keywords, and PostgreSQL functions without side effects. */
const CALLED = new Set(
  'now nextval left lower upper md5 length btrim concat abs date_trunc to_tsvector gen_random_uuid coalesce AND OR NOT IN ANY ALL CHECK WHEN THEN ELSE FROM JOIN ON USING EXISTS VALUES GREATEST LEAST COALESCE'.split(
    ' ',
  ),
);
/** Matches a name before a parenthesis. */
const CALL = /(?<![\w.])([\w.]+) ?\(/g;
/** Matches a call of a quoted name, or a type outside pg_catalog. */
const HIDDEN_CALL = /" ?\(|::"?\w+"?\./;

/** Prefixes of findings about a trigger of the service that is disabled or missing. */
const [DISABLED, MISSING] = ['disabled-trigger', 'missing-trigger'];

/** foreignObjects returns the objects that differ from the objects that the migrations created, as `kind name`. */
export function foreignObjects(found: readonly CatalogueObject[]): string[] {
  const triggers = new Set(found.filter(({ kind }) => kind === 'trigger').map(({ name }) => localName(name)));
  const missing = [...TRIGGERS.keys()].filter((name) => !triggers.has(name));
  return [
    ...found.filter((object) => !isOurs(object)).map((object) => `${kindOf(object)} ${object.name}`),
    ...missing.map((name) => `${MISSING} ${name}`),
  ];
}

/**
 * isMisleading reports whether the database object in a finding can change the meaning of SQL statements. A disabled or missing trigger of the service no
 * longer protects entries, but does not change the meaning of SQL statements.
 */
export function isMisleading(found: string): boolean {
  return ![DISABLED, MISSING].some((prefix) => found.startsWith(`${prefix} `));
}

function kindOf({ kind, name, definition }: CatalogueObject): string {
  const ours = kind === 'trigger' ? TRIGGERS.get(localName(name)) : undefined;
  return ours !== undefined && ours.replace(' O ', ' D ') === definition ? DISABLED : kind;
}

function localName(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

function isOurs({ kind, name, definition }: CatalogueObject): boolean {
  const local = localName(name);
  if (kind === 'relation') return definition === 'v' && VIEWS.has(local);
  if (kind === 'trigger') return TRIGGERS.get(local) === definition;
  if (kind === 'function') return FUNCTIONS.get(local) === createHash('sha256').update(definition).digest('hex');
  return kind === 'expression' && isHarmless(definition.replaceAll('"left"(', 'left('));
}

/** Returns true if an expression calls only names in CALLED. */
function isHarmless(expression: string): boolean {
  const calls = [...expression.matchAll(CALL)];
  return !HIDDEN_CALL.test(expression) && calls.every(([, called = '']) => CALLED.has(called));
}
