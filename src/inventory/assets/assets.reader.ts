import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import { Problem } from '../../platform/http/problem.js';
import { Clock } from '../../platform/time/clock.js';
import type { RiskVerdict } from '../risk/risk-verdict.js';
import { RiskVerdictRow } from '../risk/risk-verdict.entity.js';
import { AssetOccurrence } from './asset-occurrence.entity.js';
import { LAST_SEEN } from './last-seen.js';
import { Asset } from './asset.entity.js';
import { type AssetFilter, conditionsOf } from './asset-filter.js';

/** Counting stops here: an exact count of everything is what makes lists slow. */
const MOST_COUNTED = 10_000;
const SORTS = {
  id: { column: 'a.id', order: 'ASC' },
  name: { column: 'a.name', order: 'ASC' },
  '-level': { column: 'a.level', order: 'DESC' },
  notAfter: { column: 'a.not_after', order: 'ASC' },
} as const;
export type AssetSort = keyof typeof SORTS;
export const ASSET_SORTS = Object.keys(SORTS) as AssetSort[];

export interface AssetQuery extends AssetFilter {
  readonly limit?: number;
  readonly cursor?: string;
  readonly sort?: AssetSort;
  readonly total?: boolean;
}

export interface Total {
  readonly count: number;
  readonly type: 'EXACT' | 'AT_LEAST';
}

export interface AssetPage extends Page<Asset> {
  readonly total?: Total;
}

export interface AssetDetail {
  readonly asset: Asset;
  readonly verdict: RiskVerdict | null;
}

type Row = Asset & { position: string };

/** Finds assets. */
@Injectable()
export class AssetsReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly clock: Clock,
  ) {}

  async list({ limit = DEFAULT_LIMIT, cursor, sort = 'id', total = false, ...filter }: AssetQuery): Promise<AssetPage> {
    const list = `assets ${sort} ${JSON.stringify(filter)}`;
    const position = this.cursors.read(list, cursor);
    const { column, order } = SORTS[sort];
    const { where, values } = conditionsOf(filter, 'a', this.clock.now());
    const all = [...where];
    const filtered = values.length;
    if (sort !== 'id') where.push(`${column} IS NOT NULL`);
    if (position !== undefined) where.push(after(sort, values, position));
    const by = sort === 'id' ? 'a.id' : `${column} ${order}, a.id ${order}`;
    const rows: Row[] = await this.db.query(
      `SELECT ${FIELDS}, ${column}::text AS position FROM asset a ${clause(where)} ORDER BY ${by} LIMIT ${limit + 1}`,
      values,
    );
    const page = this.cursors.page(list, rows, limit, (row) => (sort === 'id' ? [row.id] : [row.position, row.id]));
    return total ? { ...page, total: await this.count(all, values.slice(0, filtered)) } : page;
  }

  /** @throws Problem 404 `asset.missing`. */
  async find(id: string): Promise<AssetDetail> {
    const asset = await this.db.manager.findOneBy(Asset, { id });
    if (asset === null) throw new Problem('missing', 'asset.missing', 'There is no asset with this id.');
    const row =
      asset.verdictId === null ? null : await this.db.manager.findOneBy(RiskVerdictRow, { id: asset.verdictId });
    return { asset, verdict: row?.verdict ?? null };
  }

  /** Where an asset was seen, by place and source. */
  async occurrences(
    assetId: string,
    limit = DEFAULT_LIMIT,
    cursor?: string,
  ): Promise<Page<AssetOccurrence & { source: string }>> {
    const list = `occurrences ${assetId}`;
    const [id, sourceId] = this.cursors.read(list, cursor) ?? [];
    const rows: (AssetOccurrence & { source: string })[] = await this.db.query(
      `SELECT o.asset_id AS "assetId", o.source_id AS "sourceId", o.id, o.location, o.line, o.position, o.symbol, o.context,
              o.first_seen AS "firstSeen", ${LAST_SEEN} AS "lastSeen", o.missed, i.name AS source
       FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id
       WHERE o.asset_id = $1 AND ($2::uuid IS NULL OR (o.id, o.source_id) > ($2, $3))
       ORDER BY o.id, o.source_id LIMIT ${limit + 1}`,
      [assetId, id ?? null, sourceId ?? null],
    );
    return this.cursors.page(list, rows, limit, (row) => [row.id, row.sourceId]);
  }

  private async count(where: readonly string[], values: unknown[]): Promise<Total> {
    const [row] = (await this.db.query(
      `SELECT count(*)::int AS count FROM (SELECT FROM asset a ${clause(where)} LIMIT ${MOST_COUNTED + 1}) counted`,
      values,
    )) as { count: number }[];
    const count = row?.count ?? 0;
    return count > MOST_COUNTED ? { count: MOST_COUNTED, type: 'AT_LEAST' } : { count, type: 'EXACT' };
  }
}

const FIELDS = `a.id, a.kind, a.name, a.family, a.bits, a.level, a.quantum, a.classical, a.rule, a.deadline::text, a.state, a.owner, a.labels, a.version, a.component,
  a.not_before AS "notBefore", a.not_after AS "notAfter", a.first_seen AS "firstSeen", a.changed_at AS "changedAt"`;

function clause(where: readonly string[]): string {
  return where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`;
}

/** Starts the page after a position, in the order of the list. */
function after(sort: AssetSort, values: unknown[], position: readonly string[]): string {
  const { column, order } = SORTS[sort];
  if (sort === 'id') return `a.id > $${values.push(position[0])}`;
  const type = sort === 'name' ? 'text' : sort === 'notAfter' ? 'timestamptz' : 'smallint';
  const key = `$${values.push(position[0])}::${type}`;
  return `(${column}, a.id) ${order === 'ASC' ? '>' : '<'} (${key}, $${values.push(position[1])}::uuid)`;
}
