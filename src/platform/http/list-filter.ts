import { createHash } from 'node:crypto';
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { firstIdAt } from '../database/new-id.js';
import { Problem } from '../errors/problem.js';

/** Adds a value to the parameters of a statement and returns its placeholder. */
export type BindValue = (value: unknown) => string;

/** A time range from `from` (inclusive) to `to` (exclusive). */
export interface Span {
  readonly from?: Date;
  readonly to?: Date;
}

/**
 * Maximum difference between the process clock, from which IDs are generated, and the database clock, which determines creation times. The examination `clock`
 * of the doctor fails at two seconds.
 */
const CLOCK_TOLERANCE_MS = 60_000;
/** The last code point. Nothing that starts with a prefix sorts after the prefix followed by this character. */
const LAST_CHARACTER = '\u{10ffff}';

/** binderOf returns a BindValue for a query. */
export function binderOf<Row extends ObjectLiteral>(query: SelectQueryBuilder<Row>): BindValue {
  return (value) => {
    const name = `filter${Object.keys(query.getParameters()).length}`;
    query.setParameter(name, value);
    return `:${name}`;
  };
}

/**
 * filteredList returns the name of a list for its cursors, which includes a digest of the filter, because a cursor with a long filter would exceed the length
 * limit of cursors. A cursor of one filter is rejected with another filter.
 */
export function filteredList(list: string, filter: object): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  if (given.length === 0) return list;
  const text = JSON.stringify(given.sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${list} ${createHash('sha256').update(text).digest('base64url')}`;
}

/** invalidFilter returns the Problem for the value of a query parameter. `detail` completes a sentence that begins with the name of the parameter. */
export function invalidFilter(parameter: string, detail: string): Problem {
  const pointer = `/${parameter}`;
  return new Problem('malformed', 'request.invalid', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

/** @throws Problem `request.invalid` if `to` is not later than `from`. */
export function assertSpan({ from, to }: Span): void {
  if (from !== undefined && to !== undefined && from >= to) throw invalidFilter('to', 'must be later than "from"');
}

/**
 * nameIs returns a condition for rows with a name, or with names that start with the text before a final `*`. All other characters are literal. An index
 * with `text_pattern_ops` on the column serves both forms.
 */
export function nameIs(column: string, name: string, bind: BindValue): string {
  if (!name.endsWith('*')) return `${column} = ${bind(name)}`;
  const start = name.slice(0, -1);
  return `(${column} ~>=~ ${bind(start)} AND ${column} ~<~ ${bind(start + LAST_CHARACTER)})`;
}

/** whereNamed limits a query to rows with a name; see `nameIs`. All rows match undefined. */
export function whereNamed<Row extends ObjectLiteral>(
  query: SelectQueryBuilder<Row>,
  column: string,
  name: string | undefined,
): void {
  if (name !== undefined) query.andWhere(nameIs(`${query.alias}.${column}`, name, binderOf(query)));
}

/**
 * createdWithin returns conditions for rows created in a period. IDs contain their creation time, so the conditions on the ID let the index that orders the
 * list skip the rows outside the period.
 *
 * @param columns SQL expressions for the ID (UUIDv7) and the creation time
 */
export function createdWithin(
  { from, to }: Span,
  { id, createdAt }: { readonly id: string; readonly createdAt: string },
  bind: BindValue,
): string[] {
  assertSpan({ from, to });
  const idAt = (at: Date, offset: number) => bind(firstIdAt(Math.max(0, at.getTime() + offset)));
  return [
    ...(from === undefined ? [] : [`${createdAt} >= ${bind(from)}`, `${id} >= ${idAt(from, -CLOCK_TOLERANCE_MS)}`]),
    ...(to === undefined ? [] : [`${createdAt} < ${bind(to)}`, `${id} < ${idAt(to, CLOCK_TOLERANCE_MS)}`]),
  ];
}
