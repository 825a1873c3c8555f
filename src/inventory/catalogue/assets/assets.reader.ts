import { Injectable } from '@nestjs/common';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../../platform/http/cursors.js';
import { missing } from '../../../platform/errors/problem.js';
import { ReadReplica } from '../../../platform/instances/read-replica.js';
import { Clock } from '../../../platform/work/clock.js';
import { LEVELS, type RiskVerdict, FACTS } from '../../model/risk-verdict.js';
import { AssetOccurrence } from './asset-occurrence.entity.js';
import { nameAtSource } from './asset-source-name.entity.js';
import { ASSET_FIELDS, type AssetOrder, AssetPages, type ListedAsset, type ListPart } from './asset-pages.reader.js';
import { LAST_SEEN } from './query/query-condition.js';
import type { JudgedAsset } from './asset.entity.js';
import { type AssetFilter, type Conditions, conditionsOf, verdictConditionsOf, whereClause } from './asset-filter.js';

/** MAX_COUNTED is the maximum number of matches that are counted. Counting more matches would make lists slow. */
const MAX_COUNTED = 10_000;
/** MAX_VERDICTS is the number of verdicts above which the planner's estimates are accurate enough. */
const MAX_VERDICTS = 500;
const ORDERS: Readonly<Record<Exclude<AssetSort, '-level'>, AssetOrder>> = {
  id: { by: ['a.id'], key: 'a.id' },
  name: { by: ['a.name', 'a.id'], key: 'a.name' },
  notAfter: { by: ['a.not_after', 'a.id'], key: 'a.not_after', notNull: 'a.not_after' },
};
export const ASSET_SORTS = ['id', 'name', '-level', 'notAfter'] as const;
export type AssetSort = (typeof ASSET_SORTS)[number];

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

export interface AssetPage extends Page<JudgedAsset> {
  readonly total?: Total;
}

/** PlaceAtSource is an occurrence with the source's name and the name that the source uses for the asset. */
export type PlaceAtSource = AssetOccurrence & { readonly source: string; readonly name: string };

export interface AssetDetail {
  readonly asset: JudgedAsset;
  readonly verdict: RiskVerdict | null;
}

interface NamedVerdicts {
  readonly verdicts: readonly Verdict[] | undefined;
  /** Name of the source whose names for the assets are returned. */
  readonly namesOf: string | undefined;
}

interface Verdict {
  readonly id: string;
  readonly level: number;
}

/** AssetsReader lists and finds assets. */
@Injectable()
export class AssetsReader {
  constructor(
    private readonly reads: ReadReplica,
    private readonly cursors: Cursors,
    private readonly clock: Clock,
    private readonly pages: AssetPages,
  ) {}

  async list({ limit = DEFAULT_LIMIT, cursor, sort = 'id', total = false, ...filter }: AssetQuery): Promise<AssetPage> {
    const list = `assets ${sort} ${JSON.stringify(filter)}`;
    const position = this.cursors.read(list, cursor);
    const now = this.clock.now();
    const found = conditionsOf(filter, 'a', now);
    const verdicts = await this.verdicts(verdictConditionsOf(filter, 'v', now));
    const conditions = withVerdicts(found, verdicts);
    const part =
      sort === '-level'
        ? await this.byLevel({ ...found, verdicts, namesOf: filter.source }, limit + 1, position)
        : await this.pages.read(
            { ...conditions, order: ORDERS[sort], after: position, namesOf: filter.source },
            limit + 1,
          );
    const page = this.cursors.page(list, part.rows, limit, (row) =>
      sort === 'id' ? [row.id] : [row.position, row.id],
    );
    const { stoppedAt } = part;
    const nextCursor =
      stoppedAt === undefined
        ? page.nextCursor
        : this.cursors.write(list, sort === 'id' ? stoppedAt.slice(1) : stoppedAt);
    return { items: page.items, nextCursor, ...(total && { total: await this.count(conditions) }) };
  }

  /** @throws Problem 404 `asset.missing`. */
  async find(id: string): Promise<AssetDetail> {
    const [row] = (await this.reads.db.query(
      `SELECT ${ASSET_FIELDS}, a.component, a.resolved_by AS "resolvedBy", v.verdict
       FROM judged_asset a LEFT JOIN risk_verdict v ON v.id = a.verdict_id WHERE a.id = $1`,
      [id],
    )) as (JudgedAsset & { verdict: RiskVerdict | null })[];
    if (row === undefined) throw missing('asset');
    const { verdict, ...asset } = row;
    return { asset, verdict };
  }

  /** Returns the occurrences of an asset, ordered by location and source. */
  async occurrences(assetId: string, limit = DEFAULT_LIMIT, cursor?: string): Promise<Page<PlaceAtSource>> {
    const list = `occurrences ${assetId}`;
    const [id, sourceId] = this.cursors.read(list, cursor) ?? [];
    const rows: PlaceAtSource[] = await this.reads.db.query(
      `SELECT o.asset_id AS "assetId", o.source_id AS "sourceId", o.id, o.location, o.line, o.position, o.symbol, o.context,
              o.first_seen AS "firstSeen", ${LAST_SEEN} AS "lastSeen", o.missed, i.name AS source, ${nameAtSource('o.source_id')} AS name
       FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id JOIN asset a ON a.id = o.asset_id
       WHERE o.asset_id = $1 AND ($2::uuid IS NULL OR (o.id, o.source_id) > ($2, $3))
       ORDER BY o.id, o.source_id LIMIT ${limit + 1}`,
      [assetId, id ?? null, sourceId ?? null],
    );
    return this.cursors.page(list, rows, limit, (row) => [row.id, row.sourceId]);
  }

  /** Returns assets ordered by level. No index provides this order, so each level is read as a separate list. */
  private async byLevel(
    { where, values, verdicts, namesOf }: Conditions & NamedVerdicts,
    count: number,
    position?: readonly string[],
  ): Promise<ListPart> {
    const highest = position === undefined ? LEVELS.length - 1 : Number(position[0]);
    const rows: ListedAsset[] = [];
    for (let level = highest; level >= 0 && rows.length < count; level -= 1) {
      const those = verdicts?.filter((verdict) => verdict.level === level);
      const ofLevel = withVerdicts({ where: [...where, `a.level = ${level}`], values }, those);
      const after = position === undefined || level < highest ? undefined : position.slice(1);
      const order = { by: ['a.id'], isDescending: true, key: String(level) };
      const part = await this.pages.read({ ...ofLevel, order, after, namesOf }, count - rows.length);
      rows.push(...part.rows);
      if (part.stoppedAt !== undefined) return { rows, stoppedAt: part.stoppedAt };
    }
    return { rows };
  }

  /**
   * Returns the verdicts that the assets in a list can have (docs/decisions/0068). The planner can estimate how many assets have a given verdict, but not how
   * many assets match a condition on verdicts. Returns undefined if there are too many verdicts or if assets without a verdict may match.
   */
  private async verdicts({ where, values }: Conditions): Promise<Verdict[] | undefined> {
    if (where.length === 0) return undefined;
    const nothing = 'VALUES (NULL::uuid, NULL, NULL, NULL::int, NULL::smallint, NULL, NULL, NULL, NULL::date)';
    const rows: (Verdict | { readonly id: null })[] = await this.reads.db.query(
      `SELECT v.id, v.level FROM (SELECT id, kind, ${FACTS} FROM risk_verdict UNION ALL ${nothing}) v ${whereClause(where)} LIMIT ${MAX_VERDICTS + 1}`,
      values,
    );
    return rows.length > MAX_VERDICTS || rows.some(({ id }) => id === null) ? undefined : (rows as Verdict[]);
  }

  private async count(conditions: Conditions): Promise<Total> {
    const { count, isWhole } = await this.pages.count(conditions, MAX_COUNTED + 1);
    if (count > MAX_COUNTED) return { count: MAX_COUNTED, type: 'AT_LEAST' };
    return { count, type: isWhole ? 'EXACT' : 'AT_LEAST' };
  }
}

function withVerdicts({ where, values }: Conditions, verdicts: readonly Verdict[] | undefined): Conditions {
  if (verdicts === undefined) return { where, values: [...values] };
  const ids = verdicts.map(({ id }) => id);
  return { where: [...where, `a.verdict_id = ANY($${values.length + 1}::uuid[])`], values: [...values, ids] };
}
