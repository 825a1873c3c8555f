import type { DataSource, EntityMetadata } from 'typeorm';
import { canonicalJson } from '../json/canonical-json.js';
import { type SealedClass, type SealedEntity, sealedOptions } from './sealed-entity.js';

type Columns = EntityMetadata['columns'];
type ColumnOf = Columns[number];

/** A row in the format of `to_jsonb`. */
export type JsonRow = Readonly<Record<string, unknown>>;

/** RowText encodes the rows of one sealed entity for its seal, and decodes rows that SQL returns as JSON. */
export class RowText<Row extends SealedEntity> {
  readonly table: string;
  /** SQL names of the primary key columns. */
  readonly keyColumns: readonly string[];
  private readonly columns: Columns;
  private readonly sealed: Columns;

  constructor(db: DataSource, entity: SealedClass<Row>) {
    const { tableName, columns } = db.getMetadata(entity);
    const except = new Set<string>([...sealedOptions(entity).except, 'seal']);
    this.table = tableName;
    this.columns = columns;
    this.sealed = columns.filter(({ propertyName }) => !except.has(propertyName));
    this.keyColumns = columns.filter(({ isPrimary }) => isPrimary).map(({ databaseName }) => databaseName);
    const unsealedKey = columns.find((column) => column.isPrimary && !this.sealed.includes(column));
    if (unsealedKey !== undefined) throw new Error(`${tableName}: the primary key must be sealed`);
  }

  /**
   * Returns canonical JSON (RFC 8785) of the table name and the sealed columns. Null columns are omitted, so that a new nullable column does not change the
   * text of existing rows. Timestamps have millisecond precision, like the values that the driver returns.
   */
  textOf(row: Partial<Row>): string {
    const values = this.sealed.map((column) => [column.databaseName, encoded(column, valueIn(row, column))] as const);
    return canonicalJson([this.table, Object.fromEntries(values.filter(([, value]) => value !== undefined))]);
  }

  /** Returns the row that an INSERT of these values creates, including column defaults. Throws if SQL computes a sealed value. */
  completed(values: Partial<Row>): Partial<Row> {
    const row: Record<string, unknown> = { ...values };
    for (const column of this.sealed) {
      const { propertyName } = column;
      if (row[propertyName] === undefined) row[propertyName] = defaultOf(column);
      if (typeof row[propertyName] === 'function')
        throw new Error(`${this.table}.${column.databaseName} is sealed: compute its value in the service, not in SQL`);
    }
    return row as Partial<Row>;
  }

  /** Decodes a row returned by `to_jsonb`. */
  decoded(json: JsonRow): Row {
    const values = this.columns.map((column) => [column.propertyName, decoded(column, json[column.databaseName])]);
    return Object.fromEntries(values) as Row;
  }

  /** Returns the primary key of a row, for messages. */
  keyOf(row: Partial<Row>): string {
    const key = this.columns.filter(({ isPrimary }) => isPrimary);
    return key.map((column) => `${valueIn(row, column) as string | boolean}`).join(' ');
  }

  /** Returns a condition on the primary key of a row, by property. */
  whereKey(row: Row): Partial<Row> {
    const key = this.columns.filter(({ isPrimary }) => isPrimary);
    return Object.fromEntries(key.map((column) => [column.propertyName, valueIn(row, column)])) as Partial<Row>;
  }
}

function valueIn(row: object, { propertyName }: ColumnOf): unknown {
  return (row as Record<string, unknown>)[propertyName];
}

/** Returns the value of a column as JSON; undefined for null. */
function encoded({ type }: ColumnOf, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  // The service never writes `infinity` or a year BC. A row with one of these times does not match its seal, but must not abort the processing of other
  // rows.
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'no time' : value.toISOString();
  if (typeof value === 'number' && !Number.isFinite(value)) return 'no time';
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (type === 'bigint') return JSON.stringify(value).replaceAll('"', '');
  if (typeof value === 'string') return type === 'uuid' ? value.toLowerCase() : value.toWellFormed();
  return typeof value === 'object' ? (JSON.parse(JSON.stringify(value)) as unknown) : value;
}

const HEX_BYTES = /^\\x(?:[0-9a-f]{2})*$/;

function decoded({ type }: ColumnOf, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'bigint') return JSON.stringify(value);
  if (type !== 'timestamptz' && type !== 'bytea') return value;
  const text = typeof value === 'string' ? value : '';
  if (type === 'timestamptz') return timeOf(text);
  return HEX_BYTES.test(text) ? Buffer.from(text.slice(2), 'hex') : Buffer.alloc(0);
}

/** Parses a time. Years after 9999 have five or six digits in PostgreSQL, and a sign and six digits in ECMAScript. */
function timeOf(text: string): Date {
  return new Date(text.replace(/^\d{5,6}(?=-)/, (year) => `+${year.padStart(6, '0')}`));
}

/** Returns the default of a column as a value. A timestamp that PostgreSQL would generate is replaced with the time of this process. */
function defaultOf({ type, isArray, isNullable, default: given }: ColumnOf): unknown {
  const declared: unknown = given;
  if (declared === undefined || declared === null) {
    if (isNullable) return null;
    throw new Error('a sealed column without a default requires a value');
  }
  if (typeof declared === 'function') return type === 'timestamptz' ? new Date() : declared;
  return isArray && declared === '{}' ? [] : declared;
}
