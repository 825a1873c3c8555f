import { readHostKeyLine } from '../host-keys/public-key-blob.js';
import { readHostPlace } from '../network/host-place.port.js';
import { badItem, type ImportItem, type ImportBudget, ImportRefusal } from './import-result.js';
import { truncate } from '../../platform/text/truncate.js';

const COLUMNS = [
  'name',
  'address',
  'port',
  'owner',
  'environment',
  'labels',
  'hostKeyPolicy',
  'managementMode',
  'privilege',
  'jumpHost',
  'hostKey',
  'user',
  'credential',
] as const;

/** Cell separators. Excel writes semicolons if the decimal separator is a comma, and tabs when cells are copied. */
const SEPARATORS = [',', ';', '\t'];
/** Optional first line that declares the separator for Excel. */
const DECLARATION = /^"?sep=(.)"?(?:\n|$)/i;

/**
 * readCsvHosts reads CSV (RFC 4180) with a header. `label.KEY` columns and `labels` (`key=value;key=value`) become labels. Cells may also be separated by
 * semicolons or tabs. Empty rows and empty trailing columns, which Excel writes for cells that were once used, are ignored. Throws ImportRefusal if the header
 * does not contain the columns name and address.
 */
export function readCsvHosts(text: string, budget: ImportBudget): ImportItem[] {
  const start = truncate(text, 1000).split('\n', 1)[0] ?? '';
  const [, declared] = DECLARATION.exec(start) ?? [];
  const separator = declared ?? SEPARATORS.find((one) => start.includes(one)) ?? ',';
  const [header, ...rows] = records(text, separator).slice(declared === undefined ? 0 : 1);
  const names = whole(header?.cells ?? []).map(columnOf);
  if (!names.includes('name') || !names.includes('address'))
    throw new ImportRefusal(
      'host-import.format',
      `is not valid csv: line ${header?.line ?? 1} must have the columns name and address`,
    );
  const stray = names.findIndex((name) => !COLUMNS.includes(name as never) && !name.startsWith('label.'));
  if (stray !== -1)
    throw new ImportRefusal(
      'host-import.format',
      `has the unknown column "${truncate(names[stray] ?? '', 60)}" (column ${stray + 1} of line ${header?.line})`,
    );
  return rows.map(({ line, cells, isOpen }) => {
    budget.spendHost();
    const pointer = `line ${line}`;
    if (isOpen || cells.length < names.length || whole(cells).length > names.length)
      return badItem(
        pointer,
        cells[0] ?? '',
        isOpen ? 'contains an unclosed quote' : `has ${cells.length} cells, but the header has ${names.length}`,
      );
    return item(pointer, new Map(names.map((name, i) => [name, (cells[i] ?? '').trim()])));
  });
}

/** Returns a column name with standard capitalization. Column names are case-insensitive, except for the KEY of a label. */
function columnOf(name: string): string {
  const known = COLUMNS.find((column) => column.toLowerCase() === name.toLowerCase());
  return known ?? name.replace(/^label\./i, 'label.');
}

/** Trims the cells and removes empty trailing cells. */
function whole(cells: readonly string[]): string[] {
  const trimmed = cells.map((cell) => cell.trim());
  return trimmed.slice(0, trimmed.findLastIndex((cell) => cell !== '') + 1);
}

function item(pointer: string, cells: ReadonlyMap<string, string>): ImportItem {
  const text = (name: string) => cells.get(name) || undefined;
  const plain = ['name', 'address', 'owner', 'environment', 'hostKeyPolicy', 'managementMode', 'privilege'];
  const fields: Record<string, unknown> = Object.fromEntries(
    plain.flatMap((name) => (text(name) === undefined ? [] : [[name, text(name)]])),
  );
  const place = readHostPlace(text('address') ?? '');
  const port = text('port') ?? place?.port;
  if (place !== undefined) fields['address'] = place.address;
  if (port !== undefined) fields['port'] = Number(port);
  const labels = Object.fromEntries([
    ...(text('labels')?.split(';') ?? [])
      .filter((pair) => pair.trim() !== '')
      .map((pair) => {
        const at = pair.indexOf('=');
        return at === -1 ? [pair.trim(), ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
      }),
    ...[...cells]
      .filter(([name, value]) => name.startsWith('label.') && value !== '')
      .map(([name, value]) => [name.slice(6), value]),
  ]) as Record<string, string>;
  if (Object.keys(labels).length > 0) fields['labels'] = labels;
  const line = text('hostKey');
  const key = line === undefined ? undefined : readHostKeyLine(line);
  const faults =
    line !== undefined && key === undefined
      ? [{ pointer: `${pointer}/hostKey`, detail: 'must be a line like ssh-ed25519 AAAA…' }]
      : [];
  const keys = key === undefined ? [] : [{ key }];
  const login = { credential: text('credential'), user: text('user') };
  return { pointer, name: text('name') ?? '', fields, login, jumpHost: text('jumpHost'), keys, faults, ignored: [] };
}

interface CsvRecord {
  /** Line where the record begins. */
  readonly line: number;
  readonly cells: string[];
  readonly isOpen: boolean;
}

/** Returns the records, without empty lines. A quoted cell may contain separators, doubled quotes and line breaks. */
function records(source: string, separator: string): CsvRecord[] {
  const found: CsvRecord[] = [];
  let [line, cells, start] = [1, [] as string[], 1];
  for (let at = 0; at <= source.length; at += 1) {
    const { cell, end, isClosed } = cellAt(source, at, separator);
    cells.push(cell);
    line += cell.split('\n').length - 1;
    at = end;
    if (source[at] === separator && isClosed) continue;
    // Text after a closing quote does not belong to any cell.
    const isOpen = !isClosed || (at < source.length && source[at] !== '\n');
    if (isOpen || cells.some((text) => text.trim() !== '')) found.push({ line: start, cells, isOpen });
    if (isOpen) break;
    line += 1;
    [cells, start] = [[], line];
  }
  return found;
}

interface Cell {
  readonly cell: string;
  /** Offset of the character after the cell. */
  readonly end: number;
  readonly isClosed: boolean;
}

function cellAt(source: string, at: number, separator: string): Cell {
  if (source[at] !== '"') {
    let end = at;
    while (end < source.length && source[end] !== separator && source[end] !== '\n') end += 1;
    return { cell: source.slice(at, end), end, isClosed: true };
  }
  for (let from = at + 1; ;) {
    const quote = source.indexOf('"', from);
    if (quote === -1) return { cell: source.slice(at + 1), end: source.length, isClosed: false };
    if (source[quote + 1] !== '"')
      return { cell: source.slice(at + 1, quote).replaceAll('""', '"'), end: quote + 1, isClosed: true };
    from = quote + 2;
  }
}
