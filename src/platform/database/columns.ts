/** SQL types that `columns` can pass as arrays. jsonb travels as text and is cast in the statement. */
type ColumnType = 'uuid' | 'text' | 'int' | 'bytea' | 'jsonb' | 'boolean' | 'timestamptz';

/**
 * Turns rows into one array parameter per column, for `SELECT … FROM unnest($1::uuid[], $2::text[], …)`:
 * one statement of constant text whatever the number of rows.
 *
 * @returns `from`: the unnest(…) expression with aliases, starting at parameter `first`; `values`: its parameters.
 */
export function columns<Row extends object>(
  rows: readonly Row[],
  types: { readonly [Name in keyof Row]-?: ColumnType },
  first = 1,
): { from: string; values: unknown[] } {
  const names = Object.keys(types) as (keyof Row & string)[];
  const parts = names.map((name, i) => `$${first + i}::${arrayType(types[name])}[]`);
  const values = names.map((name) => rows.map((row) => parameter(row[name], types[name])));
  return { from: `unnest(${parts.join(', ')}) AS item(${names.map((name) => `"${name}"`).join(', ')})`, values };
}

function arrayType(type: ColumnType): string {
  return type === 'jsonb' ? 'text' : type;
}

function parameter(value: unknown, type: ColumnType): unknown {
  if (value === undefined || value === null) return null;
  return type === 'jsonb' ? JSON.stringify(value) : value;
}
