import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { Clock } from '../../../platform/work/clock.js';
import { type AssetFilter, conditionsOf, whereClause } from '../assets/asset-filter.js';
import { nameAtSource } from '../assets/asset-source-name.entity.js';
import { hashId } from '../../model/asset-identity.js';
import { ExportSnapshots } from './export-snapshots.js';

/**
 * Matches the positions at which a spreadsheet may interpret text as a formula (OWASP, CSV injection): before one of these characters, including the full-width
 * forms, at the beginning of a cell or after a character that localized spreadsheets use as a separator. An apostrophe inserted at the position prevents this
 * interpretation.
 */
const SIGNS = String.raw`-=+@\uFF1D\uFF0B\uFF0D\uFF20`;
const FORMULA = String.raw`^(?=[${SIGNS}\t\r\n])|(?<=[;|\t\r\n])(?=[${SIGNS}])`;
const text = (column: string, name = column) =>
  `CASE WHEN ${column} ~ '${FORMULA}' THEN regexp_replace(${column}, '${FORMULA}', '''', 'g') ELSE ${column} END AS "${name}"`;
/** Formats a time as in RFC 3339, like the JSON API. Spreadsheets would treat PostgreSQL's time format as text. */
const time = (column: string, name: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "${name}"`;
const COLUMNS = [
  'a.id',
  'a.kind',
  text('a.name', 'name'),
  text('a.family', 'family'),
  'a.bits',
  `(ARRAY['NONE', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'])[a.level + 1] AS level`,
  'a.quantum',
  'a.classical',
  'a.rule',
  'a.deadline',
  'a.state',
  text('a.owner', 'owner'),
  text(`array_to_string(a.labels, ' ')`, 'labels'),
  time('a.not_before', 'notBefore'),
  time('a.not_after', 'notAfter'),
  time('a.first_seen', 'firstSeen'),
  text(`(a.deadline_by ->> 'authority')`, 'deadlineAuthority'),
  `(a.deadline_by ->> 'binding')::boolean AS "deadlineBinding"`,
  text(`(a.deadline_by ->> 'url')`, 'deadlineUrl'),
];

/** Returns the columns. If the filter contains a source, the column `name` contains the names that the source uses. */
function columnsOf({ source }: AssetFilter): readonly string[] {
  if (source === undefined) return COLUMNS;
  const name = nameAtSource(`'${hashId('source', source)}'::uuid`);
  return COLUMNS.map((column) => (column === text('a.name', 'name') ? text(name, 'name') : column));
}

/** Byte order mark. Without a byte order mark, Excel on Windows reads the file in the system code page. */
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** AssetCsv writes assets as CSV (RFC 4180), row by row, from one snapshot of the database. */
@Injectable()
export class AssetCsv {
  constructor(
    private readonly exports: ExportSnapshots,
    private readonly clock: Clock,
  ) {}

  /** @param options `bom`: whether the file begins with a byte order mark; `principal`: the principal whose limit on concurrent exports applies */
  async open(
    filter: AssetFilter,
    { bom, principal }: { bom: boolean; principal: string | undefined },
  ): Promise<Readable> {
    const { where, values } = conditionsOf(filter, 'a', this.clock.now());
    const query = {
      text: `SELECT ${columnsOf(filter).join(', ')} FROM judged_asset a ${whereClause(where)} ORDER BY a.id`,
      values,
    };
    const snapshot = await this.exports.open(principal);
    return snapshot.stream(marked(snapshot.copy(query, '(FORMAT csv, HEADER)'), bom));
  }
}

async function* marked(rows: AsyncIterable<Buffer>, bom: boolean): AsyncGenerator<Buffer> {
  if (bom) yield BYTE_ORDER_MARK;
  yield* rows;
}
