import type { PoolClient } from 'pg';
import { isUniqueViolation } from '../../platform/database/database-error.js';
import { type AssetRows, edgeRows, type VerdictRow } from './asset-rows.js';
import { ASSET_COLUMNS, PLACE_COLUMNS, placesIn } from './asset-store.js';
import { copyInto } from './copy-into.js';
import { CopyRows, uuidArray } from './copy-rows.js';
import type { DocumentAssets } from './document-assets.js';
import type { IdentifiedAsset } from './identified-asset.js';
import type { IngestProgress } from './ingest-order.js';
import { NewAssets } from './new-assets.js';

const MANY = 200;
const TOLD_EVERY = 5000;
/** Bytes of one field. */
const FEW = 32;

/**
 * Temporary tables of the connection that takes documents in; emptied by every commit of a transaction that has looked into one of them, which
 * takes its time: a document that changes nothing does not. Their rows are joined as sets: no indexes.
 */
export const STAGING = `
  CREATE TEMP TABLE IF NOT EXISTS stage_key (id uuid, content uuid) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_asset (
    id uuid, kind text, name text, verdict_id uuid, resolved_by json, not_before timestamptz, not_after timestamptz, component json, content uuid
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_place (asset_id uuid, id uuid) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_relationship (from_id uuid, to_id uuid, kinds smallint) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_changed (
    id uuid PRIMARY KEY, kind text, verdict_id uuid, quantum text, family text, bits int, level smallint, state text, owner text, deadline date,
    not_after timestamptz
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_touched (id uuid PRIMARY KEY) ON COMMIT DELETE ROWS;`;

const EDGE_COLUMNS = 'from_id, to_id, kinds';

export interface Written {
  readonly created: NewAssets;
  /** Of a new source: the assets of its document that were there before. */
  readonly known: readonly string[];
  /** Something that was there before may be another thing now. */
  readonly differs: boolean;
  /** Of the assets that were written or looked at. */
  readonly verdicts: readonly VerdictRow[];
}

/** Resolves when no other document of the process is brought together with what is known, nor will be until this transaction is over. */
export type StagingTurn = () => Promise<void>;

/**
 * Brings rows to the database by COPY, the fastest way in that PostgreSQL has. What was never heard of goes where it belongs at once;
 * of what is there already and says the same, only the key travels. The database works on what it has while the next rows are made.
 */
export class Staging {
  /** As a field. */
  private readonly source: Buffer;

  constructor(
    private readonly client: PoolClient,
    private readonly assets: DocumentAssets,
    private readonly rows: AssetRows,
    private readonly sourceId: string,
    private readonly tell: (progress: IngestProgress) => void,
  ) {
    const source = new CopyRows(FEW);
    source.uuid(sourceId);
    this.source = source.take();
  }

  /** The source reports for the first time: no place and no edge of it can be there, and nothing be missing. */
  async ofNewSource(turn: StagingTurn): Promise<Written> {
    const all = this.assets.all();
    const ids = uuidArray(all.map(({ id }) => id));
    const places = this.copyPlaces(all);
    const edges = this.copyEdges(`asset_relationship (${EDGE_COLUMNS}, source_id)`, this.source);
    let known: ReadonlySet<string> = new Set();
    const assets = this.copyUnknown(async () => {
      known = await this.ids('SELECT id FROM asset WHERE id = ANY($1::uuid[])', [ids]);
      return known.size === 0 ? all : all.filter(({ id }) => !known.has(id));
    });
    // None is left behind under way: what comes next on the connection is the end of the transaction.
    await Promise.allSettled([places, edges, assets]);
    await Promise.all([places, edges]);
    const created = await assets;
    const there = all.filter(({ id }) => known.has(id));
    const before = there.map(({ id }) => id);
    const contents = there.map((asset) => this.rows.look(asset).content);
    await turn();
    const differing = await this.differing('FROM unnest($1::uuid[], $2::uuid[]) AS s (id, content)', [
      uuidArray(before),
      uuidArray(contents),
    ]);
    await this.copyDiffering(there.filter(({ id }) => differing.has(id)));
    return { created, known: before, differs: differing.size > 0, verdicts: this.rows.verdicts() };
  }

  async ofKnownSource(turn: StagingTurn): Promise<Written> {
    const all = this.assets.all();
    const contents = all.map((asset) => this.rows.look(asset).content);
    await this.copy('stage_key', all.entries(), (to, [index, { id }]) => {
      to.row(2);
      to.uuid(id);
      to.uuid(contents[index] ?? null);
    });
    const created = await this.copyUnknown(async () => {
      const unknown = await this.ids(
        'SELECT s.id FROM stage_key s WHERE NOT EXISTS (SELECT FROM asset a WHERE a.id = s.id)',
      );
      return all.filter(({ id }) => unknown.has(id));
    });
    await this.copyFreshPlaces();
    await this.copyEdges(`stage_relationship (${EDGE_COLUMNS})`);
    await turn();
    const differing = await this.differing('FROM stage_key s');
    await this.copyDiffering(all.filter(({ id }) => differing.has(id)));
    const isWritten = created.total + differing.size > 0;
    return { created, known: [], differs: true, verdicts: isWritten ? this.rows.verdicts() : [] };
  }

  /**
   * Who brings in the same assets at the same time waits in their key, which all of them meet in one order, until it is known whether
   * the other's stay. Then the rest is written, and places and edges, which came before the savepoint, are kept.
   */
  private async copyUnknown(find: () => Promise<readonly IdentifiedAsset[]>): Promise<NewAssets> {
    await this.client.query('SAVEPOINT new_assets');
    for (;;) {
      const unknown = await find();
      try {
        return await this.copyNew(unknown);
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        await this.client.query('ROLLBACK TO SAVEPOINT new_assets');
      }
    }
  }

  /** Those that say something else now, or were missed. */
  private differing(from: string, values?: unknown[]): Promise<ReadonlySet<string>> {
    return this.ids(
      `SELECT s.id ${from} JOIN asset a ON a.id = s.id WHERE a.content <> s.content OR a.state <> 'active'`,
      values,
    );
  }

  private async copyFreshPlaces(): Promise<void> {
    const { assets } = this;
    function* all() {
      for (const asset of assets.all())
        for (const places of assets.placesOf(asset))
          for (const place of placesIn(places)) yield { assetId: asset.id, place };
    }
    await this.copy('stage_place', all(), (to, { assetId, place }) => {
      to.row(2);
      to.uuid(assetId);
      to.uuid(place.id);
    });
    const fresh = await this.ids(
      `SELECT s.asset_id || ' ' || s.id FROM stage_place s
       WHERE NOT EXISTS (SELECT FROM asset_occurrence o WHERE o.asset_id = s.asset_id AND o.source_id = $1 AND o.id = s.id)`,
      [this.sourceId],
    );
    if (fresh.size === 0) return;
    await this.copy(`asset_occurrence (${PLACE_COLUMNS})`, all(), (to, { assetId, place }) => {
      if (fresh.has(`${assetId} ${place.id}`)) to.fields(place.bytes, place.start, place.end);
    });
  }

  private async ids(text: string, values: unknown[] = []): Promise<ReadonlySet<string>> {
    const { rows } = await this.client.query<[string]>({ text, values, rowMode: 'array' });
    return new Set(rows.map(([id]) => id));
  }

  /** Into the table itself. */
  private async copyNew(assets: readonly IdentifiedAsset[]): Promise<NewAssets> {
    const created = new NewAssets();
    const total = this.assets.all().length;
    await this.copy(`asset (${ASSET_COLUMNS})`, assets, (to, asset) => {
      created.add(this.rows.write(to, asset));
      if (created.total % TOLD_EVERY === 0) this.tell({ phase: 'WRITING', done: created.total, total });
    });
    return created;
  }

  private copyDiffering(assets: readonly IdentifiedAsset[]): Promise<void> {
    return this.copy(`stage_asset (${ASSET_COLUMNS})`, assets, (to, asset) => void this.rows.write(to, asset));
  }

  /** Into the table itself: one document of a source at a time is written, and these places are not there. */
  private copyPlaces(assets: readonly IdentifiedAsset[]): Promise<void> {
    return this.copy(`asset_occurrence (${PLACE_COLUMNS})`, assets, (to, asset) => {
      for (const { bytes, start, end } of this.assets.placesOf(asset)) to.fields(bytes, start, end);
    });
  }

  /** @param more fields that all have. */
  private copyEdges(table: string, ...more: Buffer[]): Promise<void> {
    return this.copy(table, this.assets.all(), (to, asset) => {
      for (const { fromId, toId, kinds } of edgeRows(asset)) {
        to.row(3 + more.length);
        to.uuid(fromId);
        to.uuid(toId);
        to.int2(kinds);
        for (const field of more) to.fields(field);
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
    // Of a temporary table that was not analyzed the planner assumes that it is small.
    if (count > MANY && table.startsWith('stage_')) await this.client.query(`ANALYZE ${table.split(' ', 1)[0]}`);
  }
}
