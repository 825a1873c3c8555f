import type { PoolClient } from 'pg';
import { copyInto } from '../../../platform/database/copy.js';
import { type CopyRows, uuidArray, uuidField } from '../../../platform/database/copy-rows.js';
import { isUniqueViolation } from '../../../platform/errors/database-error.js';
import { bitOf } from '../../model/asset-relationship.entity.js';
import { ASSET_COLUMNS, type IdentifiedAsset, PLACE_COLUMNS, placesIn, type RowWriter } from './asset-rows.js';
import type { DocumentAssets } from './document-assets.js';
import type { OnProgress } from './ingest-order.js';
import type { VerdictRow } from './judge.js';
import { NewAssets } from './new-assets.js';

/** MIN_ANALYZED_ROWS is the minimum number of rows for which a temporary table is analyzed. Without statistics, the planner assumes a small table. */
const MIN_ANALYZED_ROWS = 200;
const PROGRESS_EVERY_ASSETS = 5000;

/**
 * Temporary tables of a transaction. The tables are created only if a document may differ from the inventory; a document with known content and a new source
 * with only new assets do not need the tables. The tables are dropped at the end of the transaction rather than the session, because a session drops its
 * remaining tables in a commit that waits for a standby, so a leader without standbys could not stop. The tables are joined as sets and need no indexes.
 */
const STAGING_TABLES = `
  CREATE TEMP TABLE stage_key (id uuid, content uuid) ON COMMIT DROP;
  CREATE TEMP TABLE stage_asset (
    id uuid, kind text, name text, verdict_id uuid, resolved_by json, not_before timestamptz, not_after timestamptz, component json, content uuid,
    proven boolean
  ) ON COMMIT DROP;
  CREATE TEMP TABLE stage_place (asset_id uuid, id uuid) ON COMMIT DROP;
  CREATE TEMP TABLE stage_relationship (from_id uuid, to_id uuid, kinds smallint) ON COMMIT DROP;
  CREATE TEMP TABLE stage_changed (
    id uuid PRIMARY KEY, kind text, verdict_id uuid, quantum text, family text, bits int, level smallint, state text, owner text, deadline date,
    not_after timestamptz
  ) ON COMMIT DROP;
  CREATE TEMP TABLE stage_touched (id uuid PRIMARY KEY) ON COMMIT DROP;`;

/** createStagingTables creates the staging tables. Call this function once per transaction. */
export async function createStagingTables(tx: { query(text: string): Promise<unknown> }): Promise<void> {
  await tx.query(STAGING_TABLES);
}

const EDGE_COLUMNS = 'from_id, to_id, kinds';

export interface Staged {
  /** Assets that the document added to the table `asset`. */
  readonly created: NewAssets;
  /** Number of assets that the source reports for the first time, including assets that other sources report. */
  readonly newInSource: number;
  /** IDs of the assets in a new source that already existed; empty for a known source. */
  readonly known: readonly string[];
  /** Whether any existing row may have changed. */
  readonly differs: boolean;
  /** Verdicts of the written or compared assets. */
  readonly verdicts: readonly VerdictRow[];
  /** New locations of assets in a known source, except locations of keys and of certificates with a fingerprint. */
  readonly placed: readonly PlacedAsset[];
}

/** PlacedAsset contains the ID of an asset and the ID of one of its locations. */
export interface PlacedAsset {
  readonly assetId: string;
  readonly placeId: string;
  /** Whether the asset's identity includes its references. */
  readonly isReferring: boolean;
}

/** MergeLock waits until no other document is being merged in this process. The lock is held until the transaction ends. */
export type MergeLock = () => Promise<void>;

/**
 * Staging transfers the rows of a document to the database with COPY. New assets are copied directly to their tables. For known and unchanged assets, only the
 * id and the content hash are sent.
 */
export class Staging {
  private readonly source: Buffer;

  constructor(
    private readonly client: PoolClient,
    private readonly assets: DocumentAssets,
    private readonly rows: RowWriter,
    private readonly sourceId: string,
    private readonly onProgress: OnProgress,
  ) {
    this.source = uuidField(sourceId);
  }

  /** Stages a source that reports for the first time. The source has no locations and edges yet, so no location or edge can be missing. */
  async ofNewSource(lock: MergeLock): Promise<Staged> {
    const all = this.assets.all();
    const ids = uuidArray(all.map(({ id }) => id));
    const places = this.copyPlaces(all);
    const edges = this.copyEdges(`asset_relationship (${EDGE_COLUMNS}, source_id)`, this.source);
    const copied = Promise.allSettled([places, edges]);
    // Waits until the locations have been sent. The edges and the next query are queued behind the locations, and the driver warns about a third queued query.
    await Promise.allSettled([places]);
    let known: ReadonlySet<string> = new Set();
    const assets = this.copyUnknown(NEVER, async () => {
      known = await this.ids('SELECT id FROM asset WHERE id = ANY($1::uuid[])', [ids]);
      return known.size === 0 ? all : all.filter(({ id }) => !known.has(id));
    });
    // Waits for all queries before an error is reported, because the next statement on the connection ends the transaction.
    await Promise.allSettled([copied, assets]);
    await Promise.all([places, edges]);
    const created = await assets;
    const there = all.filter(({ id }) => known.has(id));
    const before = there.map(({ id }) => id);
    const contents = there.map((asset) => this.rows.judged(asset).content);
    await lock();
    const differing = await this.differing('FROM unnest($1::uuid[], $2::uuid[]) AS s (id, content)', [
      uuidArray(before),
      uuidArray(contents),
    ]);
    if (differing.size > 0) {
      await createStagingTables(this.client);
      await this.copyDiffering(there.filter(({ id }) => differing.has(id)));
    }
    const differs = differing.size > 0;
    return { created, newInSource: all.length, known: before, differs, verdicts: this.rows.verdicts(), placed: [] };
  }

  async ofKnownSource(lock: MergeLock): Promise<Staged> {
    await createStagingTables(this.client);
    const all = this.assets.all();
    const contents = all.map((asset) => this.rows.judged(asset).content);
    await this.copy('stage_key', all.entries(), (to, [index, { id }]) => {
      to.row(2);
      to.uuid(id);
      to.uuid(contents[index] ?? null);
    });
    const created = await this.copyUnknown(maySucceed, async () => {
      const unknown = await this.ids(
        'SELECT s.id FROM stage_key s WHERE NOT EXISTS (SELECT FROM asset a WHERE a.id = s.id)',
      );
      return all.filter(({ id }) => unknown.has(id));
    });
    const { placed, newInSource } = await this.copyNewPlaces();
    await this.copyEdges(`stage_relationship (${EDGE_COLUMNS})`);
    await lock();
    const differing = await this.differing('FROM stage_key s');
    await this.copyDiffering(all.filter(({ id }) => differing.has(id)));
    const isWritten = created.total + differing.size > 0;
    const verdicts = isWritten ? this.rows.verdicts() : [];
    return { created, newInSource, known: [], differs: true, verdicts, placed };
  }

  /**
   * Writes the assets that `find` returns. Concurrent transactions that insert the same asset conflict on the primary key, in id order. One transaction then
   * waits until the other transaction ends, and calls `find` again after a unique violation. Locations and edges were written before the savepoint and are
   * kept.
   *
   * @param succeeds whether an asset may replace another asset
   */
  private async copyUnknown(
    succeeds: (asset: IdentifiedAsset) => boolean,
    find: () => Promise<readonly IdentifiedAsset[]>,
  ): Promise<NewAssets> {
    await this.client.query('SAVEPOINT new_assets');
    for (;;) {
      const unknown = await find();
      try {
        return await this.copyNew(unknown, succeeds);
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        await this.client.query('ROLLBACK TO SAVEPOINT new_assets');
      }
    }
  }

  /** Returns the ids of the assets whose stored content differs, or whose state is not active. */
  private differing(from: string, values?: unknown[]): Promise<ReadonlySet<string>> {
    return this.ids(
      `SELECT s.id ${from} JOIN asset a ON a.id = s.id WHERE a.content <> s.content OR a.state <> 'active'`,
      values,
    );
  }

  private async copyNewPlaces(): Promise<Pick<Staged, 'placed' | 'newInSource'>> {
    const { assets } = this;
    function* all() {
      for (const asset of assets.all())
        for (const places of assets.placesOf(asset)) for (const place of placesIn(places)) yield { asset, place };
    }
    await this.copy('stage_place', all(), (to, { asset, place }) => {
      to.row(2);
      to.uuid(asset.id);
      to.uuid(place.id);
    });
    const unknown = await this.ids(
      `SELECT s.asset_id || ' ' || s.id FROM stage_place s
       WHERE NOT EXISTS (SELECT FROM asset_occurrence o WHERE o.asset_id = s.asset_id AND o.source_id = $1 AND o.id = s.id)`,
      [this.sourceId],
    );
    const placed: PlacedAsset[] = [];
    if (unknown.size === 0) return { placed, newInSource: 0 };
    const unseen = await this.ids(
      `SELECT DISTINCT s.asset_id FROM stage_place s
       WHERE NOT EXISTS (SELECT FROM asset_occurrence o WHERE o.asset_id = s.asset_id AND o.source_id = $1)`,
      [this.sourceId],
    );
    await this.copy(`asset_occurrence (${PLACE_COLUMNS})`, all(), (to, { asset, place }) => {
      if (!unknown.has(`${asset.id} ${place.id}`)) return;
      to.encoded(place.bytes, place.start, place.end);
      if (maySucceed(asset)) placed.push({ assetId: asset.id, placeId: place.id, isReferring: asset.isReferring });
    });
    return { placed, newInSource: unseen.size };
  }

  private async ids(text: string, values: unknown[] = []): Promise<ReadonlySet<string>> {
    const { rows } = await this.client.query<[string]>({ text, values, rowMode: 'array' });
    return new Set(rows.map(([id]) => id));
  }

  private async copyNew(
    assets: readonly IdentifiedAsset[],
    succeeds: (asset: IdentifiedAsset) => boolean,
  ): Promise<NewAssets> {
    const created = new NewAssets();
    const total = this.assets.all().length;
    await this.copy(`asset (${ASSET_COLUMNS})`, assets, (to, asset) => {
      created.add(this.rows.write(to, asset), succeeds(asset));
      if (created.total % PROGRESS_EVERY_ASSETS === 0)
        this.onProgress({ phase: 'WRITING', done: created.total, total });
    });
    return created;
  }

  private copyDiffering(assets: readonly IdentifiedAsset[]): Promise<void> {
    return this.copy(`stage_asset (${ASSET_COLUMNS})`, assets, (to, asset) => void this.rows.write(to, asset));
  }

  private copyPlaces(assets: readonly IdentifiedAsset[]): Promise<void> {
    return this.copy(`asset_occurrence (${PLACE_COLUMNS})`, assets, (to, asset) => {
      for (const { bytes, start, end } of this.assets.placesOf(asset)) to.encoded(bytes, start, end);
    });
  }

  /** @param more encoded fields with the same value in all rows */
  private copyEdges(table: string, ...more: Buffer[]): Promise<void> {
    return this.copy(table, this.assets.all(), (to, asset) => {
      for (const { fromId, toId, kinds } of edgeRows(asset)) {
        to.row(3 + more.length);
        to.uuid(fromId);
        to.uuid(toId);
        to.int2(kinds);
        for (const field of more) to.encoded(field);
      }
    });
  }

  private async copy<Item>(
    table: string,
    items: Iterable<Item>,
    write: (to: CopyRows, item: Item) => void,
  ): Promise<void> {
    if (Array.isArray(items) && items.length === 0) return;
    const count = await copyInto(this.client, table, items, write);
    if (count >= MIN_ANALYZED_ROWS && table.startsWith('stage_'))
      await this.client.query(`ANALYZE ${table.split(' ', 1)[0]}`);
  }
}

/** Reports whether the asset may replace another asset at the same location. A key, or a certificate with a fingerprint, never replaces another asset. */
function maySucceed({ kind, isReferring }: IdentifiedAsset): boolean {
  return kind === 'algorithm' || isReferring;
}

/** A source that reports for the first time cannot replace anything. */
const NEVER = () => false;

interface EdgeRow {
  readonly fromId: string;
  readonly toId: string;
  /** Bit mask of kinds, see `bitOf`. */
  readonly kinds: number;
}

/** Returns the rows of `asset_relationship` for the edges of an asset, in primary key order. Each row contains all kinds of one edge. */
function edgeRows({ id: fromId, edges }: IdentifiedAsset): EdgeRow[] {
  const rows: EdgeRow[] = [];
  const [first] = edges;
  if (first === undefined) return rows;
  if (edges.every(({ to }) => to === first.to))
    return [{ fromId, toId: first.to.id, kinds: edges.reduce((mask, { kind }) => mask | bitOf(kind), 0) }];
  const kinds = new Map<string, number>();
  for (const { kind, to } of edges) kinds.set(to.id, (kinds.get(to.id) ?? 0) | bitOf(kind));
  for (const [toId, mask] of kinds) rows.push({ fromId, toId, kinds: mask });
  return rows.sort((a, b) => (a.toId < b.toId ? -1 : 1));
}
