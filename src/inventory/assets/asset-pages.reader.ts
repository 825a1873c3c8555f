import { Injectable } from '@nestjs/common';
import { sqlState } from '../../platform/database/database-error.js';
import { ReadReplica } from '../../platform/reads/read-replica.js';
import type { JudgedAsset } from './asset.entity.js';
import { hashId } from '../model/asset-identity.js';
import { type Conditions, whereClause } from './asset-filter.js';
import { nameAtSource } from './asset-source-name.entity.js';

/** So many assets are looked at in the order of the list before the planner is asked for another way. */
const MAX_WALKED = 3000;
/** How far a second walk may go, when the first one has met so many that the page is expected to be full by then. */
const MAX_SECOND_WALK = 20_000;
/** A value that was met less often on the walk is rare: the planner must not expect to meet it soon. */
const RARE = 3;
/** What an index serves is found within this time. What takes longer would read the table, for as long as that takes. */
const MAX_SEARCH_MS = 300;
const MAX_COUNT_MS = 1000;
/** So many assets one call reads at most when no index serves its filter. */
const MAX_READ = 50_000;
/** For so long the further parts of a list are read without another search, when one has found no index that serves its filter. */
const UNSERVED_MS = 10_000;
const MAX_UNSERVED = 1000;
const QUERY_CANCELED = '57014';

type Position = readonly [key: string, id: string];

export type ListedAsset = JudgedAsset & { position: string };

/** An order that an index has. */
export interface AssetOrder {
  readonly by: readonly string[];
  readonly isDescending?: boolean;
  /** The sort key of a cursor, beside the id: a column of `asset`, or a constant. */
  readonly key: string;
  /** What must not be null: such assets are not in the index. */
  readonly notNull?: string;
}

/** The assets that meet a filter, in an order. */
export interface AssetList extends Conditions {
  readonly order: AssetOrder;
  /** The source whose names are shown. */
  readonly namesOf?: string | undefined;
  /** Values of `by` of the last asset before the page. */
  readonly after?: readonly string[] | undefined;
}

/** What was read of a list. */
export interface ListPart {
  readonly rows: ListedAsset[];
  /** Sort key and id where reading ended before the page was full and before the end of the list; there it goes on. */
  readonly stoppedAt?: Position;
}

export const ASSET_FIELDS = `a.id, a.kind, a.name, a.family, a.bits, a.level, a.quantum, a.classical, a.rule, a.deadline::text, a.deadline_by AS "deadlineBy", a.state, a.owner, a.labels, a.version,
  a.not_before AS "notBefore", a.not_after AS "notAfter", a.first_seen AS "firstSeen", a.changed_at AS "changedAt"`;

/** SQL: the part of a component that lists read, which is what the lifecycle of a key is judged by. A whole component may be large. */
const LISTED_COMPONENT = `CASE WHEN a.kind <> 'related-crypto-material' THEN '{}'::json ELSE (
  SELECT json_build_object('cryptoProperties', json_build_object('relatedCryptoMaterialProperties', json_build_object(
    'state', left(k.key ->> 'state', 40), 'creationDate', left(k.key ->> 'creationDate', 40), 'activationDate', left(k.key ->> 'activationDate', 40))))
  FROM (SELECT a.component -> 'cryptoProperties' -> 'relatedCryptoMaterialProperties' AS key) k) END AS component`;

/**
 * Reads pages of assets at a cost that does not grow with the inventory (docs/decisions/0065, 0148): by the order of the list while it meets
 * enough, else by whatever index serves the filter, and where none does, a bounded part of the list at a time.
 */
@Injectable()
export class AssetPages {
  /** Filters that no index serves, and until when that is believed. */
  private readonly unserved = new Map<string, number>();

  constructor(private readonly reads: ReadReplica) {}

  /** The first `count` of a list, or fewer, and then where to go on. */
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

  /** The first `count` of a list; undefined when they are not found on a walk, nor by an index. */
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
    // OFFSET 0 keeps the limit from the planner: it collects all.
    const found =
      met.length >= RARE
        ? { from: 'judged_asset', where: conditions, count }
        : { from: `(SELECT * FROM judged_asset a ${whereClause(conditions)} OFFSET 0)`, where: [], count };
    return this.within<ListedAsset[]>(MAX_SEARCH_MS, selection(list, found), values);
  }

  /** How many meet the conditions: up to `max`, and whether all of them were looked at. */
  async count({ where, values }: Conditions, max: number): Promise<{ count: number; isWhole: boolean }> {
    const counted = (from: string) =>
      `SELECT count(*)::int AS count FROM (SELECT FROM ${from} a ${whereClause(where)} LIMIT ${max}) counted`;
    const all = await this.within<{ count: number }[]>(MAX_COUNT_MS, counted('judged_asset'), values);
    if (all !== undefined) return { count: all[0]?.count ?? 0, isWhole: true };
    const part = `(SELECT * FROM judged_asset ORDER BY id LIMIT ${MAX_READ})`;
    const some: { count: number }[] = await this.reads.db.query(counted(part), [...values]);
    return { count: some[0]?.count ?? 0, isWhole: false };
  }

  /** As many assets as one call may read, in the order of the list. */
  private async readOn(list: AssetList, count: number): Promise<ListPart> {
    const end = await this.endOfPart(list);
    // Up to the end and not up to a number: meanwhile others may have been added before it.
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

  /** Key and id of the last asset that one call may read; undefined when the list ends before. */
  private async endOfPart(list: AssetList): Promise<Position | undefined> {
    const values: unknown[] = [];
    const start = whereClause(startOf(list, values));
    const [end] = (await this.reads.db.query(
      `SELECT ${list.order.key}::text AS key, a.id FROM asset a ${start} ${orderBy(list)} OFFSET ${MAX_READ - 1} LIMIT 1`,
      values,
    )) as { key: string; id: string }[];
    return end === undefined ? undefined : [end.key, end.id];
  }

  /** The rows of a statement; undefined when it takes longer. */
  private async within<Rows>(ms: number, statement: string, values: readonly unknown[]): Promise<Rows | undefined> {
    try {
      return await this.reads.db.transaction(async (tx) => {
        await tx.query(`SET LOCAL statement_timeout = ${ms}`);
        // The words are for the check of plans: this statement may read much, and is not let.
        return tx.query<Rows>(`${statement} -- ended after ${ms} ms`, [...values]);
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

/** The name is that of the source which the list is of. */
function fieldsOf({ namesOf }: AssetList): string {
  if (namesOf === undefined) return ASSET_FIELDS;
  return ASSET_FIELDS.replace('a.name', `${nameAtSource(`'${hashId('source', namesOf)}'::uuid`)} AS name`);
}

function orderBy({ order: { by, isDescending = false } }: AssetList): string {
  return `ORDER BY ${by.map((column) => (isDescending ? `${column} DESC` : column)).join(', ')}`;
}

/** Conditions for what comes after the page before; their values are added to `values`. */
function startOf({ order: { by, isDescending = false, notNull }, after }: AssetList, values: unknown[]): string[] {
  const start = notNull === undefined ? [] : [`${notNull} IS NOT NULL`];
  if (after === undefined) return start;
  const position = after.map((value) => `$${values.push(value)}`).join(', ');
  return [...start, `(${by.join(', ')}) ${isDescending ? '<' : '>'} (${position})`];
}
