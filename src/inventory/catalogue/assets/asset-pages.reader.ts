import { Injectable } from '@nestjs/common';
import { sqlState } from '../../../platform/errors/database-error.js';
import { ReadReplica } from '../../../platform/instances/read-replica.js';
import type { JudgedAsset } from './asset.entity.js';
import { hashId } from '../../model/asset-identity.js';
import { type Conditions, whereClause } from './asset-filter.js';
import { nameAtSource } from './asset-source-name.entity.js';

/** MAX_WALKED is the number of rows scanned in list order before falling back to a planner-chosen query. */
const MAX_WALKED = 3000;
/**
 * MAX_SECOND_WALK is the maximum number of rows scanned in a second walk. The second walk runs only if the number of matches in the first walk suggests that
 * the page will be filled.
 */
const MAX_SECOND_WALK = 20_000;
/** RARE is the number of matches in the first walk below which matches are considered rare. The planner must then not expect an early match. */
const RARE = 3;
/** MAX_SEARCH_MS is the search timeout. Searches that use an index finish earlier; all other searches would scan the table. */
const MAX_SEARCH_MS = 300;
const MAX_COUNT_MS = 1000;
/** Maximum number of assets that one call reads if no index supports its filter. */
const MAX_READ = 50_000;
/** UNSERVED_MS is the time for which a filter is cached as unsupported by any index. Later pages of the list are then read without another search. */
const UNSERVED_MS = 10_000;
const MAX_UNSERVED = 1000;
const QUERY_CANCELED = '57014';

type Position = readonly [key: string, id: string];

export type ListedAsset = JudgedAsset & { position: string };

/** AssetOrder is a sort order that an index provides. */
export interface AssetOrder {
  readonly by: readonly string[];
  readonly isDescending?: boolean;
  /** Sort key in a cursor, in addition to the id: a column of `asset` or a constant. */
  readonly key: string;
  /** Column that must not be null, because the index excludes assets whose column is null. */
  readonly notNull?: string;
}

/** AssetList describes a list of assets: filter, order, and the position after the previous page. */
export interface AssetList extends Conditions {
  readonly order: AssetOrder;
  /** Name of the source whose names for the assets are returned. */
  readonly namesOf?: string | undefined;
  /** Values of `by` for the last asset of the previous page. */
  readonly after?: readonly string[] | undefined;
}

/** ListPart is the part of a list that one call reads. */
export interface ListPart {
  readonly rows: ListedAsset[];
  /** Sort key and id from which the next call continues, if the call stopped before the page was full and before the end of the list. */
  readonly stoppedAt?: Position;
}

export const ASSET_FIELDS = `a.id, a.kind, a.name, a.family, a.bits, a.level, a.quantum, a.classical, a.rule, a.deadline::text, a.deadline_by AS "deadlineBy", a.state, a.owner, a.labels, a.version,
  a.not_before AS "notBefore", a.not_after AS "notAfter", a.first_seen AS "firstSeen", a.changed_at AS "changedAt"`;

/** SQL for the part of a component that determines a key's lifecycle. A whole component may be large. */
const LISTED_COMPONENT = `CASE WHEN a.kind <> 'related-crypto-material' THEN '{}'::json ELSE (
  SELECT json_build_object('cryptoProperties', json_build_object('relatedCryptoMaterialProperties', json_build_object(
    'state', left(k.key ->> 'state', 40), 'creationDate', left(k.key ->> 'creationDate', 40), 'activationDate', left(k.key ->> 'activationDate', 40))))
  FROM (SELECT a.component -> 'cryptoProperties' -> 'relatedCryptoMaterialProperties' AS key) k) END AS component`;

/**
 * AssetPages reads pages of assets at a cost independent of the inventory size (docs/decisions/0065, 0148). It walks the list in order while matches are
 * frequent, then tries any index that supports the filter, and otherwise reads a bounded part of the list per call.
 */
@Injectable()
export class AssetPages {
  /** Filters that no index supports, with the expiration time of each cache entry. */
  private readonly unserved = new Map<string, number>();

  constructor(private readonly reads: ReadReplica) {}

  /** Returns up to `count` assets of a list, and the position from which to continue if reading stopped early. */
  async read(list: AssetList, count: number): Promise<ListPart> {
    const filter = JSON.stringify([list.where, list.values]);
    if (list.after !== undefined && performance.now() < (this.unserved.get(filter) ?? 0))
      return this.readOn(list, count);
    const rows = await this.search(list, count);
    if (rows !== undefined) return { rows };
    if (this.unserved.size >= MAX_UNSERVED) this.unserved.clear();
    this.unserved.set(filter, performance.now() + UNSERVED_MS);
    return this.readOn(list, count);
  }

  /** Returns the first `count` assets of a list, or undefined if neither a walk nor an index finds the assets in time. */
  private async search(list: AssetList, count: number): Promise<ListedAsset[] | undefined> {
    const values = [...list.values];
    const start = startOf(list, values);
    const walk = (far: number): Promise<ListedAsset[]> => {
      const from = `(SELECT * FROM judged_asset a ${whereClause(start)} ${orderBy(list)} LIMIT ${far})`;
      return this.reads.db.query(selection(list, { from, where: list.where, count }), values);
    };
    const met = await walk(MAX_WALKED);
    if (met.length === count) return met;
    const expected = Math.ceil((1.5 * MAX_WALKED * count) / met.length);
    if (expected <= MAX_SECOND_WALK) {
      const further = await walk(expected);
      if (further.length === count) return further;
    }
    const conditions = [...start, ...list.where];
    // OFFSET 0 prevents the planner from considering the limit, so that all matches are collected.
    const found =
      met.length >= RARE
        ? { from: 'judged_asset', where: conditions, count }
        : { from: `(SELECT * FROM judged_asset a ${whereClause(conditions)} OFFSET 0)`, where: [], count };
    return this.within<ListedAsset[]>(MAX_SEARCH_MS, selection(list, found), values);
  }

  /** Counts the matches, up to `max`. `isWhole` is false if only some of the assets were examined. */
  async count({ where, values }: Conditions, max: number): Promise<{ count: number; isWhole: boolean }> {
    const counted = (from: string) =>
      `SELECT count(*)::int AS count FROM (SELECT FROM ${from} a ${whereClause(where)} LIMIT ${max}) counted`;
    const all = await this.within<{ count: number }[]>(MAX_COUNT_MS, counted('judged_asset'), values);
    if (all !== undefined) return { count: all[0]?.count ?? 0, isWhole: true };
    const part = `(SELECT * FROM judged_asset ORDER BY id LIMIT ${MAX_READ})`;
    const some: { count: number }[] = await this.reads.db.query(counted(part), [...values]);
    return { count: some[0]?.count ?? 0, isWhole: false };
  }

  /** Returns the matches among the next MAX_READ assets of the list. */
  private async readOn(list: AssetList, count: number): Promise<ListPart> {
    const end = await this.endOfPart(list);
    // The statement is limited by the last asset's position rather than by a count, because assets may have been added before that position in the meantime.
    const values = [...list.values];
    const range = startOf(list, values);
    const { by, isDescending = false } = list.order;
    if (end !== undefined) {
      const last = (by.length === 1 ? end.slice(1) : end).map((value) => `$${values.push(value)}`);
      range.push(`(${by.join(', ')}) ${isDescending ? '>=' : '<='} (${last.join(', ')})`);
    }
    const from = `(SELECT * FROM judged_asset a ${whereClause(range)} ${orderBy(list)} LIMIT ${2 * MAX_READ})`;
    const rows: ListedAsset[] = await this.reads.db.query(selection(list, { from, where: list.where, count }), values);
    return rows.length === count || end === undefined ? { rows } : { rows, stoppedAt: end };
  }

  /** Returns the key and id of the last asset that one call may read, or undefined if the list ends earlier. */
  private async endOfPart(list: AssetList): Promise<Position | undefined> {
    const values: unknown[] = [];
    const start = whereClause(startOf(list, values));
    const [end] = (await this.reads.db.query(
      `SELECT ${list.order.key}::text AS key, a.id FROM asset a ${start} ${orderBy(list)} OFFSET ${MAX_READ - 1} LIMIT 1`,
      values,
    )) as { key: string; id: string }[];
    return end === undefined ? undefined : [end.key, end.id];
  }

  /** Returns the rows of a statement, or undefined if the statement takes longer than `ms` milliseconds. */
  private async within<Rows>(ms: number, statement: string, values: readonly unknown[]): Promise<Rows | undefined> {
    try {
      return await this.reads.db.transaction(async (tx) => {
        await tx.query(`SET LOCAL statement_timeout = ${ms}`);
        // The SQL comment marks this statement for the query plan check: the statement may read many rows, but is cancelled in time.
        return tx.query<Rows>(`${statement} -- cancelled after ${ms} ms`, [...values]);
      });
    } catch (error) {
      if (sqlState(error) === QUERY_CANCELED) return undefined;
      throw error;
    }
  }
}

interface Selected {
  readonly from: string;
  readonly where: readonly string[];
  readonly count: number;
}

function selection(list: AssetList, { from, where, count }: Selected): string {
  const fields = `${fieldsOf(list)}, ${LISTED_COMPONENT}, ${list.order.key}::text AS position`;
  return `SELECT ${fields} FROM ${from} a ${whereClause(where)} ${orderBy(list)} LIMIT ${count}`;
}

/** Returns the selected columns. With `namesOf`, the name column contains that source's name for the asset. */
function fieldsOf({ namesOf }: AssetList): string {
  if (namesOf === undefined) return ASSET_FIELDS;
  return ASSET_FIELDS.replace('a.name', `${nameAtSource(`'${hashId('source', namesOf)}'::uuid`)} AS name`);
}

function orderBy({ order: { by, isDescending = false } }: AssetList): string {
  return `ORDER BY ${by.map((column) => (isDescending ? `${column} DESC` : column)).join(', ')}`;
}

/** Returns the conditions that skip previous pages, and appends the parameter values to `values`. */
function startOf({ order: { by, isDescending = false, notNull }, after }: AssetList, values: unknown[]): string[] {
  const start = notNull === undefined ? [] : [`${notNull} IS NOT NULL`];
  if (after === undefined) return start;
  const position = after.map((value) => `$${values.push(value)}`).join(', ');
  return [...start, `(${by.join(', ')}) ${isDescending ? '<' : '>'} (${position})`];
}
