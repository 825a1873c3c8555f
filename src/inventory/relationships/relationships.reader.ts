import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import { Problem } from '../../platform/http/problem.js';
import type { RelationshipKind } from './asset-relationship.entity.js';
import { anyOf, KINDS, tellingUse, USES } from './relationship-mask.js';

export type Direction = 'out' | 'in';

export interface Edge {
  readonly fromId: string;
  readonly kind: RelationshipKind;
  readonly toId: string;
  readonly fromName: string;
  readonly toName: string;
}

/** An asset that is reached, by the shortest way: `viaId` is the asset one step nearer to the start. */
export interface Reached {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly level: number | null;
  readonly depth: number;
  readonly viaId: string;
  readonly viaKind: RelationshipKind;
}

export interface Radius {
  readonly nodes: Reached[];
  /** true: there are more than were asked for. */
  readonly truncated: boolean;
}

export interface EdgeQuery {
  readonly assetId?: string;
  readonly direction?: Direction;
  readonly kind?: RelationshipKind;
  readonly limit?: number;
  readonly cursor?: string;
}

/** Walks the graph of assets. */
@Injectable()
export class RelationshipsReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  /** Edges, however many sources tell of them. With `assetId`, those that leave it (`out`) or lead to it (`in`). */
  async list({ assetId, direction = 'out', kind, limit = DEFAULT_LIMIT, cursor }: EdgeQuery): Promise<Page<Edge>> {
    const list = `edges ${assetId ?? ''} ${direction} ${kind ?? ''}`;
    const position = this.cursors.read(list, cursor) ?? [null, null, null];
    const [near, far] = ENDS[direction];
    // The first comparison is one that the index knows.
    const isAfter = `(r.${near}, r.${far}) >= ($3, $4::uuid) AND (r.${near}, r.${far}, k.kind) > ($3, $4, $5)`;
    const rows: Edge[] = await this.db.query(
      `SELECT r.from_id AS "fromId", r.kind, r.to_id AS "toId", f.name AS "fromName", t.name AS "toName" FROM (
         SELECT DISTINCT r.from_id, r.to_id, k.kind FROM asset_relationship r JOIN ${KINDS} ON ${anyOf('r.kinds', 'k.bit')}
         WHERE ($1::uuid IS NULL OR r.${near} = $1) AND ($2::text IS NULL OR k.kind = $2)
           AND ($3::uuid IS NULL OR ${isAfter})
         ORDER BY r.${near}, r.${far}, k.kind LIMIT ${limit + 1}) r
       JOIN asset f ON f.id = r.from_id JOIN asset t ON t.id = r.to_id ORDER BY r.${near}, r.${far}, r.kind`,
      [assetId ?? null, kind ?? null, ...position],
    );
    return this.cursors.page(list, rows, limit, ({ fromId, toId, kind: edge }) =>
      direction === 'out' ? [fromId, toId, edge] : [toId, fromId, edge],
    );
  }

  /**
   * What is affected when an asset fails: everything that uses it, at any distance. `provides` is an offer and no use, and is not
   * followed. Level by level, so that each asset is met once, by its shortest way, and cycles end.
   */
  async blastRadius(id: string, depth: number, most: number): Promise<Radius> {
    await this.assertExists(id);
    const reached = new Map<string, Reached>();
    const complete = await this.walk(id, { depth, most, direction: 'in' }, reached);
    return { nodes: [...reached.values()], truncated: !complete };
  }

  /** The shortest way along uses and references from one asset to another; empty when there is none within `depth` steps. */
  async path(from: string, to: string, depth: number): Promise<Reached[]> {
    await this.assertExists(from);
    await this.assertExists(to);
    const reached = new Map<string, Reached>();
    await this.walk(from, { depth, most: MOST_WALKED, direction: 'out', until: to }, reached);
    const steps: Reached[] = [];
    for (let step = reached.get(to); step !== undefined; step = reached.get(step.viaId)) steps.unshift(step);
    return steps;
  }

  private async walk(
    start: string,
    { depth, most, direction, until }: Walk,
    reached: Map<string, Reached>,
  ): Promise<boolean> {
    let level = [start];
    for (let distance = 1; distance <= depth && level.length > 0; distance += 1) {
      // Those that are known already and the start itself may come again.
      const steps = await this.step(level, direction, most + 2);
      level = [];
      for (const { kinds, ...asset } of steps) {
        if (asset.id === start || reached.has(asset.id)) continue;
        if (reached.size === most) return false;
        reached.set(asset.id, { ...asset, depth: distance, viaKind: tellingUse(kinds) });
        level.push(asset.id);
      }
      if (until !== undefined && reached.has(until)) return true;
    }
    return true;
  }

  /**
   * The next level, with what is shown of each asset, so that it need not be asked for again. Of each asset only so many edges are read,
   * in the order of the index: half the inventory may use one algorithm. What they lead to is looked up one by one (OFFSET 0): the planner
   * would rather read all assets than ten thousand of them. Their verdicts are joined when all are there.
   */
  private step(ids: readonly string[], direction: Direction, most: number): Promise<Step[]> {
    const [near, far] = ENDS[direction];
    return this.db.query(
      `WITH steps AS MATERIALIZED (
         SELECT e.id, a.kind, a.name, a.verdict_id, e.via, e.kinds FROM (
           SELECT DISTINCT ON (r.id) r.id, n.id AS via, r.kinds FROM unnest($1::uuid[]) n(id) CROSS JOIN LATERAL (
             SELECT ${far} AS id, bit_or(kinds) AS kinds FROM asset_relationship
             WHERE ${near} = n.id AND ${anyOf('kinds', USES)} GROUP BY ${far} ORDER BY ${far} LIMIT ${most}) r
           ORDER BY r.id, n.id LIMIT ${most}) e
         CROSS JOIN LATERAL (SELECT kind, name, verdict_id FROM asset WHERE id = e.id OFFSET 0) a)
       SELECT s.id, s.kind, s.name, v.level, s.via AS "viaId", s.kinds
       FROM steps s LEFT JOIN risk_verdict v ON v.id = s.verdict_id ORDER BY s.id`,
      [ids],
    );
  }

  private async assertExists(id: string): Promise<void> {
    const rows: unknown[] = await this.db.query('SELECT 1 FROM asset WHERE id = $1', [id]);
    if (rows.length === 0) throw new Problem('missing', 'asset.missing', 'There is no asset with this id.');
  }
}

const MOST_WALKED = 100_000;

/** Where a step begins and where it leads. */
const ENDS = { out: ['from_id', 'to_id'], in: ['to_id', 'from_id'] } as const;

interface Step extends Omit<Reached, 'depth' | 'viaKind'> {
  readonly kinds: number;
}

interface Walk {
  readonly depth: number;
  readonly most: number;
  readonly direction: Direction;
  readonly until?: string;
}
