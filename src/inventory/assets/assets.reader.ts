import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import { Problem } from '../../platform/errors/problem.js';
import { Clock } from '../../platform/time/clock.js';
import { LEVELS, type RiskVerdict, FACTS } from '../model/risk-verdict.js';
import { AssetOccurrence } from './asset-occurrence.entity.js';
import { LAST_SEEN } from './query/query-condition.js';
import type { JudgedAsset } from './asset.entity.js';
import { type AssetFilter, type Conditions, conditionsOf, verdictConditionsOf, whereClause } from './asset-filter.js';

/** Counting stops here: an exact count of everything is what makes lists slow. */
const MAX_COUNTED = 10_000;
/** So many assets are looked at in the order of the list before the planner is asked for another way. */
const MAX_WALKED = 3000;
/** For more verdicts than these the planner estimates as well by itself. */
const MAX_VERDICTS = 500;
/** A value that was met less often on the walk is rare: the planner must not expect to meet it soon. */
const RARE = 3;
const COLUMNS = { name: 'a.name', notAfter: 'a.not_after' } as const;
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

export interface AssetDetail {
  readonly asset: JudgedAsset;
  readonly verdict: RiskVerdict | null;
}

type Row = JudgedAsset & { position: string };

interface Verdict {
  readonly id: string;
  readonly level: number;
}

interface AssetList extends Conditions {
  /** Where the page begins. */
  readonly start: readonly string[];
  readonly by: string;
  /** The sort key of a cursor, beside the id. */
  readonly position: string;
}

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
    const now = this.clock.now();
    const found = conditionsOf(filter, 'a', now);
    const verdicts = await this.verdicts(verdictConditionsOf(filter, 'v', now));
    const conditions = withVerdicts(found, verdicts);
    const rows =
      sort === '-level'
        ? await this.byLevel({ ...found, verdicts }, limit + 1, position)
        : await this.read(inOrder(sort, conditions, position), limit + 1);
    const page = this.cursors.page(list, rows, limit, (row) => (sort === 'id' ? [row.id] : [row.position, row.id]));
    return total ? { ...page, total: await this.count(conditions) } : page;
  }

  /** @throws Problem 404 `asset.missing`. */
  async find(id: string): Promise<AssetDetail> {
    const [row] = (await this.db.query(
      `SELECT ${FIELDS}, a.resolved_by AS "resolvedBy", v.verdict
       FROM judged_asset a LEFT JOIN risk_verdict v ON v.id = a.verdict_id WHERE a.id = $1`,
      [id],
    )) as (JudgedAsset & { verdict: RiskVerdict | null })[];
    if (row === undefined) throw new Problem('missing', 'asset.missing', 'There is no asset with this id.');
    const { verdict, ...asset } = row;
    return { asset, verdict };
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

  /** No index has the order of levels: each of them is a list of its own. */
  private async byLevel(
    { where, values, verdicts }: Conditions & { readonly verdicts: readonly Verdict[] | undefined },
    count: number,
    position?: readonly string[],
  ): Promise<Row[]> {
    const highest = position === undefined ? LEVELS.length - 1 : Number(position[0]);
    const rows: Row[] = [];
    for (let level = highest; level >= 0 && rows.length < count; level -= 1) {
      const those = verdicts?.filter((verdict) => verdict.level === level);
      const ofLevel = withVerdicts({ where: [...where, `a.level = ${level}`], values }, those);
      const start = position === undefined || level < highest ? [] : [`a.id < $${ofLevel.values.push(position[1])}`];
      const part = await this.read({ ...ofLevel, start, by: 'a.id DESC', position: 'a.level' }, count - rows.length);
      rows.push(...part);
    }
    return rows;
  }

  /**
   * The verdicts that assets of a list can have (docs/decisions/0068): how many assets a verdict has is known to the planner, how many meet
   * a condition on verdicts is not. Undefined for too many of them, and when assets without a verdict may be in the list.
   */
  private async verdicts({ where, values }: Conditions): Promise<Verdict[] | undefined> {
    if (where.length === 0) return undefined;
    const nothing = 'VALUES (NULL::uuid, NULL, NULL, NULL::int, NULL::smallint, NULL, NULL, NULL, NULL::date)';
    const rows: (Verdict | { readonly id: null })[] = await this.db.query(
      `SELECT v.id, v.level FROM (SELECT id, kind, ${FACTS} FROM risk_verdict UNION ALL ${nothing}) v ${whereClause(where)} LIMIT ${MAX_VERDICTS + 1}`,
      values,
    );
    return rows.length > MAX_VERDICTS || rows.some(({ id }) => id === null) ? undefined : (rows as Verdict[]);
  }

  /** The first so many of a list (docs/decisions/0065). */
  private async read({ where, values, start, by, position }: AssetList, count: number): Promise<Row[]> {
    const first = (from: string, conditions: readonly string[]): Promise<Row[]> =>
      this.db.query(
        `SELECT ${FIELDS}, ${position}::text AS position FROM ${from} a ${whereClause(conditions)} ORDER BY ${by} LIMIT ${count}`,
        values,
      );
    const walked = `(SELECT * FROM judged_asset a ${whereClause(start)} ORDER BY ${by} LIMIT ${MAX_WALKED})`;
    const rows = await first(walked, where);
    if (rows.length === count) return rows;
    if (rows.length >= RARE) return first('judged_asset', [...start, ...where]);
    // OFFSET 0 keeps the limit from the planner: it collects all.
    return first(`(SELECT * FROM judged_asset a ${whereClause([...start, ...where])} OFFSET 0)`, []);
  }

  private async count({ where, values }: Conditions): Promise<Total> {
    const [row] = (await this.db.query(
      `SELECT count(*)::int AS count FROM (SELECT FROM judged_asset a ${whereClause(where)} LIMIT ${MAX_COUNTED + 1}) counted`,
      values,
    )) as { count: number }[];
    const count = row?.count ?? 0;
    return count > MAX_COUNTED ? { count: MAX_COUNTED, type: 'AT_LEAST' } : { count, type: 'EXACT' };
  }
}

function withVerdicts({ where, values }: Conditions, verdicts: readonly Verdict[] | undefined): Conditions {
  if (verdicts === undefined) return { where, values: [...values] };
  const ids = verdicts.map(({ id }) => id);
  return { where: [...where, `a.verdict_id = ANY($${values.length + 1}::uuid[])`], values: [...values, ids] };
}

const FIELDS = `a.id, a.kind, a.name, a.family, a.bits, a.level, a.quantum, a.classical, a.rule, a.deadline::text, a.state, a.owner, a.labels, a.version, a.component,
  a.not_before AS "notBefore", a.not_after AS "notAfter", a.first_seen AS "firstSeen", a.changed_at AS "changedAt"`;

/** The list in an order that an index has, from a position on. */
function inOrder(
  sort: Exclude<AssetSort, '-level'>,
  { where, values }: Conditions,
  position: readonly string[] | undefined,
): AssetList {
  const bound = [...values];
  const after = (position ?? []).map((value) => `$${bound.push(value)}`);
  if (sort === 'id') {
    return { where, values: bound, start: after.map((id) => `a.id > ${id}`), by: 'a.id', position: 'a.id' };
  }
  const column = COLUMNS[sort];
  const start = [`${column} IS NOT NULL`];
  if (position !== undefined) start.push(`(${column}, a.id) > (${after.join(', ')})`);
  return { where, values: bound, start, by: `${column}, a.id`, position: column };
}
