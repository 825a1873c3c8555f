import { LEVELS } from '../../../model/risk-verdict.js';
import { ASSET_KINDS, ASSET_STATES } from '../../../model/asset-kind.js';
import { anyNameMeets } from '../asset-source-name.entity.js';
import { QueryFault } from './query-tokens.js';
import { type Comparison, type QueryOperator, type QueryTree, type QueryValue, queryTree } from './query-tree.js';
import { truncate } from '../../../../platform/text/truncate.js';
import { ownProperty } from '../../../../formats/encoding/own-property.js';

/**
 * LAST_SEEN is SQL for the time at which source `i` last confirmed occurrence `o`. Each complete document from a source, even with identical bytes, confirms
 * every occurrence that the document contains. Occurrences therefore need not be updated each time.
 */
export const LAST_SEEN = `(CASE WHEN o.missed = 0 AND i.document_id IS NOT NULL THEN greatest(o.last_seen, i.last_seen) ELSE o.last_seen END)`;

/**
 * kindColumn returns the column of `judged_asset` by which assets of a kind are found fastest: the kind in the verdict, because there are few verdicts. Most
 * components have no verdict, so components are found by the kind of the asset.
 */
export function kindColumn(assetKind: string): 'kind' | 'judged_as' {
  return assetKind === 'component' ? 'kind' : 'judged_as';
}

/** Bind adds a parameter to the statement and returns its placeholder, such as `$3`. */
export type Bind = (value: unknown) => string;

/** Compare returns an SQL condition that is true if any of the values matches. */
type Compare = (operator: QueryOperator, values: readonly QueryValue[], context: Context) => string;
type CompareOne = (operator: QueryOperator, value: QueryValue, context: Context) => string;

interface Context {
  readonly alias: string;
  readonly bind: Bind;
  /** Start time for relative days such as `+30d`. */
  readonly now: Date;
}

const NEGATED: Readonly<Record<string, QueryOperator>> = { '=': '!=', '!=': '=' };

/** Query fields and their comparisons. Field names match the member names in responses. */
const FIELDS: Readonly<Record<string, Compare>> = {
  kind: each(kind),
  state: each(choice('state', ASSET_STATES)),
  name: each(named),
  family: each(text('family')),
  quantum: each(text('quantum')),
  classical: each(text('classical')),
  rule: each(text('rule')),
  finding: found,
  owner: each(text('owner')),
  bits: each(whole('bits')),
  level: each(level),
  notbefore: each(time('not_before')),
  notafter: each(time('not_after')),
  firstseen: each(time('first_seen')),
  changedat: each(time('changed_at')),
  deadline: each(time('deadline')),
  label: labelled,
  location: seenAt,
  host: seenAt,
  source: shownBy,
  lastseen: each(
    (operator, value, context) =>
      `EXISTS (SELECT FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id
      WHERE o.asset_id = ${context.alias}.id AND ${LAST_SEEN} ${operator} ${instant(value, context)}::timestamptz)`,
  ),
};

export const QUERY_FIELDS = [
  'kind, state, name, family, bits, level, quantum, classical, rule, finding, deadline, owner, label, source, location, host,',
  'notBefore, notAfter, firstSeen, lastSeen, changedAt',
].join(' ');

/**
 * queryCondition translates a query to a condition on the `judged_asset` with the alias `alias`. Values are bound, never interpolated.
 *
 * @throws QueryFault with the column of the fault.
 */
export function queryCondition(query: string, context: Context): string {
  return conditionOf(queryTree(query), context);
}

/**
 * verdictCondition returns the conditions of a query that concern only verdicts, on the `risk_verdict` with the alias `alias`. The query matches only assets
 * whose verdict meets these conditions.
 */
export function verdictCondition(query: string, context: Context): string {
  return ofVerdicts(queryTree(query), context);
}

const OF_VERDICTS = new Set(['family', 'quantum', 'classical', 'rule', 'bits', 'level', 'deadline']);

function ofVerdicts(tree: QueryTree, context: Context): string {
  if (isAboutVerdicts(tree)) return conditionOf(tree, context);
  if (tree.kind === 'comparison') return isOfKind(tree) ? compareKinds(tree, context) : 'true';
  if (tree.kind === 'not') return 'true';
  return `(${tree.parts.map((part) => ofVerdicts(part, context)).join(tree.kind === 'and' ? ' AND ' : ' OR ')})`;
}

/** Reports whether the query contains only conditions on verdicts. */
function isAboutVerdicts(tree: QueryTree): boolean {
  if (tree.kind === 'comparison') return OF_VERDICTS.has(tree.field.text.toLowerCase());
  return tree.kind === 'not' ? isAboutVerdicts(tree.part) : tree.parts.every((part) => isAboutVerdicts(part));
}

/** Reports whether the comparison selects assets by kinds other than `component`. Plain components usually have no verdict. */
function isOfKind({ field, operator, values }: Comparison): boolean {
  const isKind = field.text.toLowerCase() === 'kind' && operator === '=';
  return isKind && values.every(({ text: value }) => value !== 'component');
}

function compareKinds({ values }: Comparison, { alias, bind }: Context): string {
  return `${alias}.kind = ANY(${bind(values.map(({ text: value }) => value))})`;
}

function conditionOf(tree: QueryTree, context: Context): string {
  if (tree.kind === 'comparison') return compare(tree, context);
  if (tree.kind === 'not') return `coalesce(NOT (${conditionOf(tree.part, context)}), true)`;
  return `(${tree.parts.map((part) => conditionOf(part, context)).join(tree.kind === 'and' ? ' AND ' : ' OR ')})`;
}

function compare({ field, operator, values }: Comparison, context: Context): string {
  const known = ownProperty(FIELDS, field.text.toLowerCase());
  if (known === undefined)
    throw new QueryFault(
      field.column,
      `there is no field "${truncate(field.text, 50)}"; the fields are ${QUERY_FIELDS}`,
    );
  return `(${known(operator, values, context)})`;
}

function each(compareOne: CompareOne): Compare {
  return (operator, values, context) => values.map((value) => compareOne(operator, value, context)).join(' OR ');
}

function onlyEquals(operator: QueryOperator, value: QueryValue): asserts operator is '=' | '!=' {
  if (NEGATED[operator] === undefined) throw new QueryFault(value.column, `this field supports only = and !=`);
}

function choice(column: string, choices: readonly string[]): CompareOne {
  return (operator, value, { alias, bind }) => {
    onlyEquals(operator, value);
    if (!choices.includes(value.text)) throw new QueryFault(value.column, `must be one of ${choices.join(', ')}`);
    return `${alias}.${column} ${operator} ${bind(value.text)}`;
  };
}

function kind(operator: QueryOperator, value: QueryValue, context: Context): string {
  return choice(operator === '=' ? kindColumn(value.text) : 'kind', ASSET_KINDS)(operator, value, context);
}

/** Compares a text column. `*` is a wildcard; an empty string matches assets without a value. */
function text(column: string): CompareOne {
  return (operator, value, { alias, bind }) => {
    onlyEquals(operator, value);
    if (value.text === '') return `${alias}.${column} IS ${operator === '=' ? '' : 'NOT '}NULL`;
    const match = matches(`${alias}.${column}`, value.text, bind);
    return operator === '=' ? match : `coalesce(NOT ${match}, true)`;
  };
}

/** Compares an asset's name and the names that sources use for the asset. */
function named(operator: QueryOperator, value: QueryValue, { alias, bind }: Context): string {
  onlyEquals(operator, value);
  if (value.text === '') return `${alias}.name IS ${operator === '=' ? '' : 'NOT '}NULL`;
  let parameter: string | undefined;
  const once: Bind = (bound) => (parameter ??= bind(bound));
  const match = anyNameMeets(alias, (column) => matches(column, value.text, once));
  return operator === '=' ? match : `NOT ${match}`;
}

/** Compares labels. Values without a wildcard use the label index; patterns are compared with the labels of all assets that have labels. */
function labelled(operator: QueryOperator, values: readonly QueryValue[], { alias, bind }: Context): string {
  for (const value of values) onlyEquals(operator, value);
  const column = `${alias}.labels`;
  const exact = values.filter(({ text: value }) => !value.includes('*')).map(({ text: value }) => value);
  const patterns = values.filter(({ text: value }) => value.includes('*'));
  const any = [
    ...(exact.length === 0 ? [] : [`${column} && ${bind(exact)}::text[]`]),
    ...patterns.map(
      ({ text: value }) => `EXISTS (SELECT FROM unnest(${column}) label WHERE ${matches('label', value, bind)})`,
    ),
  ];
  // Repeats the index condition: the index covers only assets with labels.
  return `${operator === '=' ? '' : 'NOT '}(${column} <> '{}' AND (${any.join(' OR ')}))`;
}

/**
 * Matches the rule of any finding, not only of the finding that determined the verdict. The few verdicts are scanned once, and their assets are found with an
 * index.
 */
function found(operator: QueryOperator, values: readonly QueryValue[], { alias, bind }: Context): string {
  for (const value of values) onlyEquals(operator, value);
  const rules = bind(values.map(({ text: value }) => value));
  const verdicts = `SELECT v.id FROM risk_verdict v WHERE EXISTS (
    SELECT FROM jsonb_array_elements(v.verdict -> 'findings') f WHERE f ->> 'rule' = ANY(${rules}::text[]))`;
  const condition = `${alias}.verdict_id IN (${verdicts})`;
  return operator === '=' ? condition : `coalesce(NOT ${condition}, true)`;
}

/**
 * Matches locations. All values share one subquery, so that the planner can start from the matching occurrences, which is impossible for subqueries joined by
 * OR.
 */
function seenAt(operator: QueryOperator, values: readonly QueryValue[], { alias, bind }: Context): string {
  for (const value of values) onlyEquals(operator, value);
  const any = values.map(({ text: value }) => locationIs(value, bind));
  const place = `SELECT FROM asset_occurrence o WHERE o.asset_id = ${alias}.id AND (${any.join(' OR ')})`;
  return `${operator === '=' ? '' : 'NOT '}EXISTS (${place})`;
}

/** INDEXED_CHARACTERS is the length of the location prefixes in the prefix index. Locations begin with a host or a folder. */
const INDEXED_CHARACTERS = 32;

/**
 * Returns a condition that matches the index definitions, which cover only occurrences with a location. Prefixes use the B-tree index, because the trigram
 * index would read one list for each trigram in a long string. Prefixes are compared with operators that the trigram index does not support.
 */
function locationIs(pattern: string, bind: Bind): string {
  const [start = '', ...more] = pattern.split('*');
  if (more.length === 0 && start !== '')
    return `(${beginning(start, bind)} AND o.location IS NOT DISTINCT FROM ${bind(start)})`;
  if (more.length === 1 && more[0] === '' && start !== '') return locationBeginsWith(start, bind);
  const some = /[^*]/.test(pattern) ? `${start === '' ? `o.location <> ''` : beginning(start, bind)} AND ` : '';
  return `(${some}${matches('o.location', pattern, bind)})`;
}

export function locationBeginsWith(start: string, bind: Bind): string {
  return `(${beginning(start, bind)} AND starts_with(o.location, ${bind(start)}))`;
}

/** Compares a prefix with the prefix index. Characters beyond INDEXED_CHARACTERS are not compared here. */
function beginning(start: string, bind: Bind): string {
  const indexed = Array.from(start).slice(0, INDEXED_CHARACTERS).join('');
  return `o.location <> '' AND left(o.location, ${INDEXED_CHARACTERS}) LIKE ${bind(prefixPattern(indexed))}`;
}

function shownBy(operator: QueryOperator, values: readonly QueryValue[], { alias, bind }: Context): string {
  for (const value of values) onlyEquals(operator, value);
  const any = values.map(({ text: value }) => matches('i.name', value, bind)).join(' OR ');
  const place = `SELECT FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id WHERE o.asset_id = ${alias}.id AND o.missed = 0`;
  return `${operator === '=' ? '' : 'NOT '}EXISTS (${place} AND (${any}))`;
}

function matches(column: string, pattern: string, bind: Bind): string {
  if (!pattern.includes('*')) return `(${column} = ${bind(pattern)})`;
  return `(${column} LIKE ${bind(likePattern(pattern))})`;
}

/** likePattern converts a pattern to LIKE syntax. `*` is a wildcard; all other characters are literal. */
export function likePattern(pattern: string): string {
  return likeText(pattern).replaceAll('*', '%');
}

/** prefixPattern returns a LIKE pattern for strings with a prefix. In the prefix, `*` is literal. Unlike `starts_with`, LIKE uses an index in any collation. */
export function prefixPattern(start: string): string {
  return `${likeText(start)}%`;
}

/** Escapes a string for LIKE. */
function likeText(value: string): string {
  return value.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

function whole(column: string): CompareOne {
  return (operator, value, { alias, bind }) => {
    if (!/^\d{1,9}$/.test(value.text)) throw new QueryFault(value.column, 'must be an integer');
    return `${alias}.${column} ${operator} ${bind(Number(value.text))}`;
  };
}

function level(operator: QueryOperator, value: QueryValue, { alias, bind }: Context): string {
  const number = (LEVELS as readonly string[]).indexOf(value.text.toUpperCase());
  if (number < 0) throw new QueryFault(value.column, `must be one of ${LEVELS.join(', ')}`);
  return `${alias}.level ${operator} ${bind(number)}`;
}

function time(column: string): CompareOne {
  return (operator, value, context) =>
    `${context.alias}.${column} ${operator} ${instant(value, context)}${column === 'deadline' ? '::date' : '::timestamptz'}`;
}

const DAY_MS = 24 * 3600 * 1000;

/** Parses `2027-01-31`, `2027-01-31T12:00:00Z`, or days from now such as `+30d` or `-7d`. */
function instant(value: QueryValue, { bind, now }: Context): string {
  const days = /^([+-]\d{1,5})d$/.exec(value.text)?.[1];
  const at = days === undefined ? Date.parse(value.text) : now.getTime() + Number(days) * DAY_MS;
  const written = days !== undefined || /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2}))?$/.test(value.text);
  if (!written || Number.isNaN(at))
    throw new QueryFault(
      value.column,
      'must be a date, a time with its zone, or a number of days from now such as +30d',
    );
  return bind(new Date(at).toISOString());
}
