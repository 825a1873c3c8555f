import { Problem } from '../../../platform/errors/problem.js';
import { hashId } from '../../model/asset-identity.js';
import { type Level, levelNumber } from '../../model/risk-verdict.js';
import type { AssetKind, AssetState } from '../../model/asset-kind.js';
import { anyNameMeets } from './asset-source-name.entity.js';
import {
  kindColumn,
  locationBeginsWith,
  prefixPattern,
  queryCondition,
  verdictCondition,
  LAST_SEEN,
} from './query/query-condition.js';
import { QueryFault } from './query/query-tokens.js';

export interface AssetFilter {
  readonly kind?: AssetKind;
  readonly state?: AssetState;
  readonly level?: Level;
  readonly minLevel?: Level;
  readonly family?: string;
  readonly quantum?: string;
  readonly classical?: string;
  readonly rule?: string;
  readonly owner?: string;
  readonly label?: string;
  /** Prefix of the name. */
  readonly name?: string;
  /** Name of a source. */
  readonly source?: string;
  /** Prefix of a location. */
  readonly location?: string;
  readonly firstSeenAfter?: Date;
  readonly lastSeenAfter?: Date;
  readonly lastSeenBefore?: Date;
  readonly expiresAfter?: Date;
  readonly expiresBefore?: Date;
  /** Query in the syntax of query-tree.ts, or several queries that must all match. */
  readonly q?: string | readonly string[];
}

export interface Conditions {
  readonly where: string[];
  readonly values: unknown[];
}

export function whereClause(where: readonly string[]): string {
  return where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`;
}

const EQUAL = ['state', 'family', 'quantum', 'classical', 'rule', 'owner'] as const;

/**
 * conditionsOf returns SQL conditions on the `judged_asset` with the alias `alias`, and the values of their parameters, which are numbered from $1.
 *
 * @throws Problem 400 `query.invalid`, with the column.
 */
export function conditionsOf(filter: AssetFilter, alias: string, now: Date): Conditions {
  const where: string[] = [];
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const add = (value: unknown, condition: (parameter: string) => string) => {
    if (value !== undefined) where.push(condition(bind(value)));
  };
  add(filter.kind, (parameter) => `${alias}.${kindColumn(filter.kind ?? '')} = ${parameter}`);
  for (const column of EQUAL) add(filter[column], (parameter) => `${alias}.${column} = ${parameter}`);
  add(numberOf(filter.level), (parameter) => `${alias}.level = ${parameter}`);
  add(numberOf(filter.minLevel), (parameter) => `${alias}.level >= ${parameter}`);
  add(filter.label, (parameter) => `${alias}.labels <> '{}' AND ${alias}.labels @> ARRAY[${parameter}]::text[]`);
  add(prefixOf(filter.name), (parameter) => anyNameMeets(alias, (column) => `${column} LIKE ${parameter}`));
  add(filter.firstSeenAfter, (parameter) => `${alias}.first_seen > ${parameter}::timestamptz`);
  add(filter.expiresAfter, (parameter) => `${alias}.not_after >= ${parameter}::timestamptz`);
  add(filter.expiresBefore, (parameter) => `${alias}.not_after < ${parameter}::timestamptz`);
  const sourceId = filter.source === undefined ? undefined : hashId('source', filter.source);
  const place = `SELECT FROM asset_occurrence o WHERE o.asset_id = ${alias}.id`;
  add(sourceId, (parameter) => `EXISTS (${place} AND o.missed = 0 AND o.source_id = ${parameter}::uuid)`);
  if (filter.location !== undefined) where.push(`EXISTS (${place} AND ${locationBeginsWith(filter.location, bind)})`);
  const seen = `EXISTS (SELECT FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id
    WHERE o.asset_id = ${alias}.id AND ${LAST_SEEN} >=`;
  add(filter.lastSeenAfter, (parameter) => `${seen} ${parameter}::timestamptz)`);
  add(filter.lastSeenBefore, (parameter) => `NOT ${seen} ${parameter}::timestamptz)`);
  for (const q of queriesOf(filter)) where.push(queried(q, { alias, bind, now }));
  return { where, values };
}

const OF_VERDICTS = ['family', 'quantum', 'classical', 'rule'] as const;

/**
 * verdictConditionsOf returns the conditions of the filter that concern only verdicts, on the `risk_verdict` with the alias `alias`. The filter matches only
 * assets whose verdict meets these conditions.
 */
export function verdictConditionsOf(filter: AssetFilter, alias: string, now: Date): Conditions {
  const where: string[] = [];
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const add = (value: unknown, column: string, operator = '=') => {
    if (value !== undefined) where.push(`${alias}.${column} ${operator} ${bind(value)}`);
  };
  if (filter.kind !== 'component') add(filter.kind, 'kind');
  for (const column of OF_VERDICTS) add(filter[column], column);
  add(numberOf(filter.level), 'level');
  add(numberOf(filter.minLevel), 'level', '>=');
  for (const q of queriesOf(filter)) where.push(verdictCondition(q, { alias, bind, now }));
  return { where, values };
}

function queriesOf({ q = [] }: AssetFilter): readonly string[] {
  return typeof q === 'string' ? [q] : q;
}

function queried(query: string, context: Parameters<typeof queryCondition>[1]): string {
  try {
    return queryCondition(query, context);
  } catch (error) {
    if (!(error instanceof QueryFault)) throw error;
    const { column, detail } = error;
    throw new Problem('malformed', 'query.invalid', `q, column ${column}: ${detail}.`, {
      errors: [{ pointer: 'q', column, detail }],
    });
  }
}

function prefixOf(start: string | undefined): string | undefined {
  return start === undefined ? undefined : prefixPattern(start);
}

function numberOf(level: Level | undefined): number | undefined {
  return level === undefined ? undefined : levelNumber(level);
}
