import { type EntityManager, FindOperator, type FindOptionsWhere, type QueryDeepPartialEntity } from 'typeorm';
import { Problem } from '../errors/problem.js';
import { sealsOf } from './row-seals.js';
import type { JsonRow } from './row-text.js';
import { type SealedClass, type SealedEntity, sealedOptions } from './sealed-entity.js';

/** insertSealed inserts rows with their seals. Sealed columns require values, not SQL expressions. */
export async function insertSealed<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  ...rows: readonly Partial<Row>[]
): Promise<void> {
  if (rows.length === 0) return;
  const sealed = rows.map((row) => sealedRow(tx, entity, row));
  await tx.insert(entity, sealed as unknown as QueryDeepPartialEntity<Row>[]);
}

/** sealedRow returns the values of a new row with its seal, for a custom INSERT. */
export function sealedRow<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  values: Partial<Row>,
): Partial<Row> & { seal: Buffer } {
  const seals = sealsOf(tx);
  const row = seals.rowText(entity).completed(values);
  return { ...row, seal: seals.sealOf(entity, row) };
}

/**
 * changeSealed changes sealed rows: it locks the rows, verifies their seals, and writes the change with new seals. Sealing without verification would
 * legitimize changes made directly in the database.
 *
 * @returns number of changed rows
 * @throws Problem `row.not-sealed` if a row does not match its seal; `row.not-written` if the database did not write a change
 */
export async function changeSealed<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  where: FindOptionsWhere<Row>,
  change: { readonly [Name in keyof Row]?: Row[Name] | (() => string) },
): Promise<number> {
  if (tx.queryRunner?.isTransactionActive !== true)
    return tx.transaction((own) => changeSealed(own, entity, where, change));
  const seals = sealsOf(tx);
  const text = seals.rowText(entity);
  const rows = await tx.find(entity, { where, lock: { mode: 'pessimistic_write' } });
  for (const row of rows) {
    if (seals.trusted(entity, row) === null || !hasValues(row, where)) throw notSealed(text.table, text.keyOf(row));
    const counted = { ...change, ...nextEdit(entity, row) };
    const next = text.completed(Object.assign({}, row, counted));
    const values = { ...counted, seal: seals.sealOf(entity, next) };
    const { affected } = await tx.update(entity, text.whereKey(row), values as unknown as QueryDeepPartialEntity<Row>);
    if (affected !== 1) throw notWritten(text.table);
    seals.noteEdit(tx, entity, next);
  }
  return rows.length;
}

function nextEdit(entity: SealedClass, row: object): Record<string, number> {
  const { edits: name, countsEdits } = sealedOptions(entity);
  if (typeof name !== 'string' || countsEdits === undefined) return {};
  const known: unknown = row[name as keyof typeof row];
  return { [name]: (typeof known === 'number' ? known : 0) + 1 };
}

/** trusted returns the row if its seal matches, otherwise null. See RowSeals.trusted. */
export function trusted<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  row: Row | null,
): Row | null {
  return sealsOf(tx).trusted(entity, row);
}

/**
 * findTrusted returns the row selected by the condition if its seal matches, otherwise null. The values of the condition are compared again, because the
 * database owner could define an operator that makes PostgreSQL select another row with a matching seal.
 */
export async function findTrusted<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  where: FindOptionsWhere<Row>,
): Promise<Row | null> {
  const row = trusted(tx, entity, await tx.findOneBy(entity, where));
  return row !== null && hasValues(row, where) ? row : null;
}

/**
 * findGenuine is like `findTrusted`, but throws if the row does not match its seal or the values of the condition.
 * @throws Problem `row.not-sealed`
 */
export async function findGenuine<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  where: FindOptionsWhere<Row>,
): Promise<Row | null> {
  const row = assertSealed(tx, entity, await tx.findOneBy(entity, where));
  if (row === null || hasValues(row, where)) return row;
  const text = sealsOf(tx).rowText(entity);
  throw notSealed(text.table, text.keyOf(row));
}

/** Reports whether a row has the values of a condition. Operators other than IsNull are not checked again. */
function hasValues<Row extends SealedEntity>(row: Row, where: FindOptionsWhere<Row>): boolean {
  return Object.entries(where).every(([name, wanted]: [string, unknown]) => {
    const value: unknown = row[name as keyof Row];
    if (wanted instanceof FindOperator) return wanted.type !== 'isNull' || value === null;
    if (wanted instanceof Uint8Array) return value instanceof Uint8Array && Buffer.from(wanted).equals(value);
    if (wanted instanceof Date) return value instanceof Date && value.getTime() === wanted.getTime();
    return typeof wanted === 'object' || wanted === undefined || value === wanted;
  });
}

/** trustedRows returns the rows whose seals match. */
export function trustedRows<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  rows: readonly Row[],
): Row[] {
  return rows.filter((row) => trusted(tx, entity, row) !== null);
}

/** notWritten returns the Problem for a row that the database did not write, for example because of a trigger that returns NULL. */
export function notWritten(table: string): Problem {
  const detail = `The database did not write a row of ${table}, because a trigger, a rule or a view prevented the write. An operator must run "sealwright-admin doctor" and remove the object.`;
  return new Problem('unavailable', 'row.not-written', detail);
}

/** notSealed returns the Problem for a row that does not match its seal. */
export function notSealed(table: string, key: string): Problem {
  const detail = `Row ${key} of ${table} was modified outside the service. Remove the row, or have an operator accept it with "sealwright-admin seal-rows".`;
  return new Problem('conflict', 'row.not-sealed', detail);
}

/**
 * consumeSealed consumes rows that may be used only once, such as one-time tokens: it marks the rows as used, removes their seals, and returns the rows in
 * their earlier state.
 *
 * @param where SQL condition on `t`, with `values` as its parameters
 * @param set SQL assignments
 * @param is values that a returned row must have, so that the match of a presented token does not depend on PostgreSQL alone
 * @returns the rows whose seals matched
 */
export async function consumeSealed<Row extends SealedEntity>(
  tx: Pick<EntityManager, 'query' | 'dataSource'>,
  entity: SealedClass<Row>,
  {
    where,
    set,
    values,
    is,
  }: {
    readonly where: string;
    readonly set: string;
    readonly values: readonly unknown[];
    readonly is: FindOptionsWhere<Row>;
  },
): Promise<Row[]> {
  const seals = sealsOf(tx);
  const { table, keyColumns } = seals.rowText(entity);
  const keys = keyColumns.map((column) => `t."${column}"`).join(', ');
  const [rows]: [{ row: JsonRow }[], number] = await tx.query(
    `UPDATE ${table} used SET ${set}, seal = NULL FROM (SELECT to_jsonb(t) AS row, ${keys} FROM ${table} t WHERE ${where} FOR UPDATE) t
     WHERE ${keyColumns.map((column) => `used."${column}" = t."${column}"`).join(' AND ')} RETURNING t.row`,
    [...values],
  );
  return rows.flatMap(({ row }) => seals.opened(entity, row) ?? []).filter((row) => hasValues(row, is));
}

/**
 * lockSealed returns the row selected by the condition, or null, and locks it until the transaction ends.
 * @throws Problem `row.not-sealed`
 */
export async function lockSealed<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  where: FindOptionsWhere<Row>,
): Promise<Row | null> {
  return assertSealed(tx, entity, await tx.findOne(entity, { where, lock: { mode: 'pessimistic_write' } }));
}

/**
 * assertSealed returns the row, or null if there is no row or the row has ended.
 * @throws Problem `row.not-sealed` if the row does not match its seal
 */
export function assertSealed<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  row: Row | null,
): Row | null {
  if (row === null || trusted(tx, entity, row) !== null) return row;
  if (sealsOf(tx).hasEnded(entity, row)) return null;
  const text = sealsOf(tx).rowText(entity);
  throw notSealed(text.table, text.keyOf(row));
}
