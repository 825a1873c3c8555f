import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../../platform/http/cursors.js';
import { missing } from '../../../platform/errors/problem.js';
import { type RelationshipKind, anyOf, KINDS, tellingUse, USES } from '../../model/asset-relationship.entity.js';

export type Direction = 'out' | 'in';

export interface Edge {
  readonly fromId: string;
  readonly kind: RelationshipKind;
  readonly toId: string;
  readonly fromName: string;
  readonly toName: string;
}

/** Reached is an asset and the last step of the shortest path to the asset. `viaId` is the previous asset on the path. */
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
  /** Whether there are more assets than requested. */
  readonly truncated: boolean;
}

export interface EdgeQuery {
  readonly assetId?: string;
  readonly direction?: Direction;
  readonly kind?: RelationshipKind;
  readonly limit?: number;
  readonly cursor?: string;
}

/** RelationshipsReader traverses the asset graph. */
@Injectable()
export class RelationshipsReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  /**
   * Returns edges without duplicates, regardless of how many sources report an edge. With `assetId`, returns only the edges that leave the asset (`out`) or
   * lead to the asset (`in`).
   */
  async list({ assetId, direction = 'out', kind, limit = DEFAULT_LIMIT, cursor }: EdgeQuery): Promise<Page<Edge>> {
    const list = `edges ${assetId ?? ''} ${direction} ${kind ?? ''}`;
    const position = this.cursors.read(list, cursor) ?? [null, null, null];
    const [near, far] = ENDS[direction];
    // The first comparison is redundant but can use the index.
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
   * Returns all assets that are affected if an asset fails: the assets that use the asset, directly or indirectly. `provides` does not mean use, so these edges
   * are not followed. The search is breadth-first: each asset is reached once, by the shortest path, so cycles in the graph do not matter.
   */
  async blastRadius(id: string, depth: number, max: number): Promise<Radius> {
    await this.assertExists(id);
    const met = new Map<string, Met>();
    const shown: Promise<Shown[]>[] = [];
    // The details of a level are read while the next level is searched.
    const complete = await this.walk(id, { depth, max, direction: 'in' }, met, (ids) => {
      const reading = this.show(ids);
      // A failure is reported when all reads are awaited. Until then, Node must not treat the rejection as unhandled.
      reading.catch(() => undefined);
      shown.push(reading);
    });
    return { nodes: together(met.values(), (await Promise.all(shown)).flat()), truncated: !complete };
  }

  /** Returns the shortest path from one asset to another along uses and references. Empty if no path has at most `depth` steps. */
  async path(from: string, to: string, depth: number): Promise<Reached[]> {
    await this.assertExists(from);
    await this.assertExists(to);
    const met = new Map<string, Met>();
    await this.walk(from, { depth, max: MAX_WALKED, direction: 'out', until: to }, met);
    const steps: Met[] = [];
    for (let step = met.get(to); step !== undefined; step = met.get(step.viaId)) steps.unshift(step);
    return together(steps, await this.show(steps.map(({ id }) => id)));
  }

  /** Searches level by level. @param onLevel called with each level as soon as the level is complete. */
  private async walk(
    start: string,
    { depth, max, direction, until }: Walk,
    met: Map<string, Met>,
    onLevel: (ids: readonly string[]) => void = () => undefined,
  ): Promise<boolean> {
    let level = [start];
    for (let distance = 1; distance <= depth && level.length > 0; distance += 1) {
      // The results may include assets that were already reached, and the start itself.
      const steps = await this.step(level, direction, max + 2);
      level = [];
      let isFull = false;
      for (const { id, viaId, kinds } of steps) {
        if (id === start || met.has(id)) continue;
        isFull = met.size === max;
        if (isFull) break;
        met.set(id, { id, depth: distance, viaId, viaKind: tellingUse(kinds) });
        level.push(id);
      }
      if (level.length > 0) onLevel(level);
      if (isFull) return false;
      if (until !== undefined && met.has(until)) return true;
    }
    return true;
  }

  /**
   * Returns the next level. At most `max` edges are read per asset, because half the inventory may use one algorithm. The edges are read in index order, and
   * the index contains all requested columns.
   */
  private step(ids: readonly string[], direction: Direction, max: number): Promise<Step[]> {
    const [near, far] = ENDS[direction];
    return this.db.query(
      `SELECT DISTINCT ON (r.id) r.id, n.id AS "viaId", r.kinds FROM unnest($1::uuid[]) n(id) CROSS JOIN LATERAL (
         SELECT ${far} AS id, bit_or(kinds) AS kinds FROM asset_relationship
         WHERE ${near} = n.id AND ${anyOf('kinds', USES)} GROUP BY ${far} ORDER BY ${far} LIMIT ${max}) r
       ORDER BY r.id, n.id LIMIT ${max}`,
      [ids],
    );
  }

  /**
   * Returns the details of assets in no particular order. The assets are looked up in batches (OFFSET 0) in id order, so that adjacent index entries are read
   * together. For ten thousand ids at once, the planner would scan the whole table.
   */
  private show(ids: readonly string[]): Promise<Shown[]> {
    return this.db.query(
      `SELECT a.id, a.kind, a.name, v.level FROM generate_series(1, cardinality($1::uuid[]), ${AT_ONCE}) AS part(first)
       CROSS JOIN LATERAL (
         SELECT id, kind, name, verdict_id FROM asset WHERE id = ANY (($1::uuid[])[first:first + ${AT_ONCE - 1}]) OFFSET 0) a
       LEFT JOIN risk_verdict v ON v.id = a.verdict_id`,
      [ids],
    );
  }

  private async assertExists(id: string): Promise<void> {
    const rows: unknown[] = await this.db.query('SELECT 1 FROM asset WHERE id = $1', [id]);
    if (rows.length === 0) throw missing('asset');
  }
}

const MAX_WALKED = 100_000;
const AT_ONCE = 200;

/** Columns for the near and the far end of a step. */
const ENDS = { out: ['from_id', 'to_id'], in: ['to_id', 'from_id'] } as const;

type Met = Omit<Reached, keyof Shown> & { readonly id: string };

type Shown = Pick<Reached, 'id' | 'kind' | 'name' | 'level'>;

interface Step {
  readonly id: string;
  readonly viaId: string;
  readonly kinds: number;
}

/** Returns the assets in the order in which they were reached, without assets that have been deleted in the meantime. */
function together(met: Iterable<Met>, shown: readonly Shown[]): Reached[] {
  const byId = new Map(shown.map((one) => [one.id, one]));
  const reached: Reached[] = [];
  for (const { id, depth, viaId, viaKind } of met) {
    const one = byId.get(id);
    if (one !== undefined) reached.push({ ...one, depth, viaId, viaKind });
  }
  return reached;
}

interface Walk {
  readonly depth: number;
  readonly max: number;
  readonly direction: Direction;
  readonly until?: string;
}
