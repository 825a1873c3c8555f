import { readPublicKeyLine } from '../host-keys/public-key-blob.js';
import { badItem, type ImportItem } from './import-item.js';

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
] as const;

/** RFC 4180 with a header; `label.KEY` columns and `labels` (`key=value;key=value`) become labels. Undefined when there is no header with a name and an address. */
export function readCsvHosts(text: string): ImportItem[] | undefined {
  const [header, ...rows] = records(text);
  const names = header?.cells.map((cell) => cell.trim()) ?? [];
  if (!names.includes('name') || !names.includes('address')) return undefined;
  if (names.some((name) => !COLUMNS.includes(name as never) && !name.startsWith('label.'))) return undefined;
  return rows.map(({ line, cells, isOpen }) => {
    const pointer = `line ${line}`;
    if (isOpen || cells.length !== names.length)
      return badItem(
        pointer,
        cells[0] ?? '',
        isOpen ? 'has a quote that is never closed' : `has ${cells.length} cells, the header ${names.length}`,
      );
    return item(pointer, new Map(names.map((name, i) => [name, (cells[i] ?? '').trim()])));
  });
}

function item(pointer: string, cells: ReadonlyMap<string, string>): ImportItem {
  const text = (name: string) => cells.get(name) || undefined;
  const plain = ['name', 'address', 'owner', 'environment', 'hostKeyPolicy', 'managementMode', 'privilege'];
  const fields: Record<string, unknown> = Object.fromEntries(
    plain.flatMap((name) => (text(name) === undefined ? [] : [[name, text(name)]])),
  );
  const port = text('port');
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
  const key = line === undefined ? undefined : readPublicKeyLine(line);
  const faults =
    line !== undefined && key === undefined
      ? [{ pointer: `${pointer}/hostKey`, detail: 'must be a line like ssh-ed25519 AAAA…' }]
      : [];
  const keys = key === undefined ? [] : [{ key }];
  return { pointer, name: text('name') ?? '', fields, jumpHost: text('jumpHost'), keys, faults, ignored: [] };
}

interface CsvRecord {
  /** Where it begins. */
  readonly line: number;
  readonly cells: string[];
  readonly isOpen: boolean;
}

/** One cell: quoted, with quotes in it doubled, or plain. */
const CELL = /"((?:[^"]|"")*)("?)|([^,\n]*)/y;

/** Records, with empty lines left out. A quoted cell may hold commas, quotes (doubled) and line breaks. */
function records(text: string): CsvRecord[] {
  const source = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const found: CsvRecord[] = [];
  let [line, cells, start] = [1, [] as string[], 1];
  for (let at = 0; at <= source.length; at += 1) {
    const { cell, whole, isClosed } = cellAt(source, at);
    cells.push(cell);
    line += whole.split('\n').length - 1;
    at += whole.length;
    if (source[at] === ',' && isClosed) continue;
    // What follows a closing quote belongs to no cell.
    const isOpen = !isClosed || (at < source.length && source[at] !== '\n');
    if (isOpen || cells.length > 1 || cells[0]?.trim() !== '') found.push({ line: start, cells, isOpen });
    if (isOpen) break;
    line += 1;
    [cells, start] = [[], line];
  }
  return found;
}

function cellAt(source: string, at: number): { cell: string; whole: string; isClosed: boolean } {
  CELL.lastIndex = at;
  const [whole = '', quoted, end, plain = ''] = CELL.exec(source) ?? [];
  if (quoted === undefined) return { cell: plain, whole, isClosed: true };
  return { cell: quoted.replaceAll('""', '"'), whole, isClosed: end !== '' };
}
