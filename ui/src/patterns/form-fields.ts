export interface Option {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
  /** Options with the same group are listed under its name. */
  readonly group?: string;
}

interface Common {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly isRequired?: boolean;
  /** The text survives a redirect to the identity provider. Never use this for secrets: the browser stores the text in the clear. */
  readonly isKept?: boolean;
  /** The field is shown, and its value sent, only if this returns true. */
  readonly when?: (values: Values) => boolean;
}

/** RowColumn defines a cell of each row: text, number, one text per line, a single choice or multiple choices. */
export interface RowColumn {
  readonly name: string;
  readonly label: string;
  readonly kind?: 'text' | 'number' | 'lines' | 'choices';
  readonly options?: readonly Option[];
  readonly placeholder?: string | ((row: Row) => string);
  readonly isOptional?: boolean;
  /** The cell is shown, and its value sent, only if this returns true. */
  readonly when?: (row: Row) => boolean;
}

/** Row holds the cell values of a row. Members without a column are not shown and are sent unchanged. */
export type Row = Readonly<Record<string, string>>;

export type Field = Common &
  (
    | {
        readonly kind?: 'text' | 'url' | 'email' | 'password' | 'area' | 'lines';
        readonly value?: string;
        readonly placeholder?: string;
      }
    | { readonly kind: 'json'; readonly value?: object }
    | { readonly kind: 'number'; readonly value?: number; readonly min?: number; readonly max?: number }
    | { readonly kind: 'day'; readonly value?: string }
    | { readonly kind: 'choice'; readonly options: readonly Option[]; readonly value?: string }
    | { readonly kind: 'choices'; readonly options: readonly Option[]; readonly value?: readonly string[] }
    | {
        readonly kind: 'rows';
        readonly columns: readonly RowColumn[];
        readonly add: string;
        readonly value?: readonly Row[];
      }
    | { readonly kind: 'yes'; readonly value?: boolean }
  );

type RowsField = Extract<Field, { kind: 'rows' }>;

export type FieldValue = string | number | boolean | readonly string[] | readonly Row[] | object | undefined;
/** Values are the submitted values. An optional field that was left empty is undefined. */
export type Values = Readonly<Record<string, FieldValue>>;

/** textOf returns the text of a field, or an empty string for other values. */
export const textOf = (value: FieldValue): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/** newRow returns an empty row in which choices have their first option selected. */
export const newRow = ({ columns }: RowsField): Row =>
  Object.fromEntries(
    columns.map(({ name, kind, options }) => [
      name,
      (kind === 'choices' ? undefined : options?.[0]?.value) ?? (kind === 'number' ? '1' : ''),
    ]),
  );

/** initialValueOf returns the initial value of a field. */
export function initialValueOf(field: Field): FieldValue {
  if (field.kind === 'choices') return field.value ?? [];
  if (field.kind === 'rows') return field.value ?? (field.isRequired ? [newRow(field)] : []);
  if (field.kind === 'yes') return field.value ?? false;
  if (field.kind === 'json') return JSON.stringify(field.value ?? {}, null, 2);
  if (field.kind === 'choice') return field.value ?? (field.isRequired ? field.options[0]?.value : '');
  return field.value ?? '';
}

/** submittedValueOf returns the value of a field as sent: empty text is omitted, lines become a list, a day becomes its last second. */
export function submittedValueOf(field: Field, value: FieldValue): FieldValue {
  if (field.kind === 'lines' && typeof value === 'string') {
    const lines = linesIn(value);
    return lines.length === 0 && !field.isRequired ? undefined : lines;
  }
  if (field.kind === 'rows') return rowsFrom(field, value as readonly Row[]);
  if (value === '') return undefined;
  if (field.kind === 'json') return readObject(value);
  if (field.kind === 'number') return Number(value);
  if (field.kind === 'day') return new Date(`${textOf(value)}T23:59:59`).toISOString();
  return typeof value === 'string' ? value.trim() : value;
}

function rowsFrom({ columns, value: before = [] }: RowsField, rows: readonly Row[]): object[] {
  return rows.map((row) => {
    const others = Object.entries(row).filter(([name]) => columns.every((column) => column.name !== name));
    // Only typed text is trimmed, not values from the service.
    const isKept = before.some((one) => isSame(one, row));
    const textIn = (name: string) => (isKept ? (row[name] ?? '') : (row[name] ?? '').trim());
    const cells = columns
      .filter(({ when }) => when === undefined || when(row))
      .map(({ name, kind }) => [name, textIn(name), kind] as const)
      .filter(([, text]) => text !== '')
      .map(([name, text, kind]) => [name, cellFrom(text, kind)] as const);
    return Object.fromEntries([...others, ...cells]);
  });
}

function cellFrom(text: string, kind: RowColumn['kind']): string | number | string[] {
  if (kind === 'lines' || kind === 'choices') return linesIn(text);
  return kind === 'number' ? Number(text) : text;
}

/**
 * changedValues returns the submitted values that differ from the initial ones, for PATCH. Members that are not shown or were not edited stay
 * unchanged. An emptied field is null.
 */
export function changedValues(fields: readonly Field[], values: Values): Values {
  const byName = new Map(fields.map((field) => [field.name, field]));
  const changed = Object.entries(values).filter(([name, value]) => {
    const field = byName.get(name);
    return field === undefined || !isSame(value, submittedValueOf(field, initialValueOf(field)));
  });
  return Object.fromEntries(changed.map(([name, value]) => [name, value ?? null])) as Values;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function linesIn(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

function readObject(text: FieldValue): object | undefined {
  try {
    const value: unknown = JSON.parse(textOf(text));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
