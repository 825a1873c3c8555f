import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { Clock } from '../../platform/time/clock.js';
import { type AssetFilter, conditionsOf, whereClause } from '../assets/asset-filter.js';
import { nameAtSource } from '../assets/asset-source-name.entity.js';
import { hashId } from '../model/asset-identity.js';
import { Exports } from './exports.js';

/** A spreadsheet takes a cell that starts so for a formula (OWASP, CSV injection), in full width too: an apostrophe makes it a text. */
const FORMULA = String.raw`^[-=+@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]`;
const text = (column: string, name = column) =>
  `CASE WHEN ${column} ~ '${FORMULA}' THEN '''' || ${column} ELSE ${column} END AS "${name}"`;
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
  'a.not_before AS "notBefore"',
  'a.not_after AS "notAfter"',
  'a.first_seen AS "firstSeen"',
  `a.deadline_by ->> 'authority' AS "deadlineAuthority"`,
  `(a.deadline_by ->> 'binding')::boolean AS "deadlineBinding"`,
  `a.deadline_by ->> 'url' AS "deadlineUrl"`,
];

/** The names are those of the source that is asked for. */
function columnsOf({ source }: AssetFilter): readonly string[] {
  if (source === undefined) return COLUMNS;
  const name = nameAtSource(`'${hashId('source', source)}'::uuid`);
  return COLUMNS.map((column) => (column === text('a.name', 'name') ? text(name, 'name') : column));
}

/** Writes assets as CSV (RFC 4180), row by row, out of one snapshot of the database. */
@Injectable()
export class AssetCsv {
  constructor(
    private readonly exports: Exports,
    private readonly clock: Clock,
  ) {}

  async open(filter: AssetFilter): Promise<Readable> {
    const { where, values } = conditionsOf(filter, 'a', this.clock.now());
    const query = {
      text: `SELECT ${columnsOf(filter).join(', ')} FROM judged_asset a ${whereClause(where)} ORDER BY a.id`,
      values,
    };
    const snapshot = await this.exports.open();
    return snapshot.stream(snapshot.copy(query, '(FORMAT csv, HEADER)'));
  }
}
