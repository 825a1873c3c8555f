import type { PoolClient } from 'pg';
import { type AssetRows, edgeRows } from './asset-rows.js';
import { ASSET_COLUMNS, PLACE_COLUMNS, placesIn } from './asset-store.js';
import { copyInto } from './copy-into.js';
import { CopyRows, uuidArray } from './copy-rows.js';
import type { DocumentAssets, IdentifiedAsset } from './document-assets.js';
import type { IngestProgress } from './ingest-order.js';
import { NewAssets } from './new-assets.js';

const MANY = 200;
const TOLD_EVERY = 5000;
/** Bytes of one field. */
const FEW = 32;

/** Temporary tables of the connection that takes documents in; emptied by every commit. Their rows are joined as sets: no indexes. */
export const STAGING = `
  CREATE TEMP TABLE IF NOT EXISTS stage_key (id uuid, content uuid) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_asset (
    id uuid, kind text, name text, verdict_id uuid, resolved_by json, not_before timestamptz, not_after timestamptz, component json, content uuid
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_place (asset_id uuid, id uuid) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_relationship (from_id uuid, to_id uuid, kinds smallint) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_verdict (id uuid, subject jsonb, verdict jsonb) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_changed (
    id uuid PRIMARY KEY, kind text, quantum text, family text, bits int, level smallint, state text, owner text, deadline date, not_after timestamptz
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_touched (id uuid PRIMARY KEY) ON COMMIT DELETE ROWS;`;

const EDGE_COLUMNS = 'from_id, to_id, kinds';

export interface Written {
  readonly created: NewAssets;
  /** Of a new source: the assets of its document that were there before. */
  readonly known: readonly string[];
}

/** Resolves when no other document of the process writes new assets, nor will until this transaction is over. */
export type Turn = () => Promise<void>;

/**
 * Brings rows to the database by COPY, the fastest way in that PostgreSQL has. What was never heard of goes where it belongs at once;
 * of what is there already and says the same, only the key travels. The database works on what it has while the next rows are made.
 *
 * An asset that another process brings in at the same time makes the COPY fail with a unique violation: the document is then tried again.
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
  async ofNewSource(turn: Turn): Promise<Written> {
    const all = this.assets.all();
    const ids = uuidArray(all.map(({ id }) => id));
    const places = this.copyPlaces(all);
    const edges = this.copyEdges(`asset_relationship (${EDGE_COLUMNS}, source_id)`, this.source);
    // Nobody else writes places and edges of this source, but others may bring in the same assets.
    const ours = turn();
    const known = ours.then(() => this.ids('SELECT id FROM asset WHERE id = ANY($1::uuid[])', [ids]));
    const created = known.then((found) => this.copyAssets(new Set(found)));
    // None is left behind under way: what comes next on the connection is the end of the transaction.
    await Promise.allSettled([places, edges, created]);
    await Promise.all([places, edges]);
    return { created: await created, known: await known };
  }

  private async copyAssets(known: ReadonlySet<string>): Promise<NewAssets> {
    const all = this.assets.all();
    const created = await this.copyNew(known.size === 0 ? all : all.filter(({ id }) => !known.has(id)));
    if (known.size > 0) await this.copyDiffering(all.filter(({ id }) => known.has(id)));
    await this.copyVerdicts();
    return created;
  }

  async ofKnownSource(turn: Turn): Promise<Written> {
    const all = this.assets.all();
    // Before it keeps anybody waiting.
    const contents = all.map((asset) => this.rows.look(asset).content);
    await turn();
    await this.copy('stage_key', all.entries(), (to, [index, { id }]) => {
      to.row(2);
      to.uuid(id);
      to.uuid(contents[index] ?? null);
    });
    const unknown = new Set(
      await this.ids('SELECT s.id FROM stage_key s WHERE NOT EXISTS (SELECT FROM asset a WHERE a.id = s.id)'),
    );
    const differing = new Set(
      await this.ids(
        `SELECT s.id FROM stage_key s JOIN asset a ON a.id = s.id WHERE a.content <> s.content OR a.state <> 'active'`,
      ),
    );
    const created = await this.copyNew(all.filter(({ id }) => unknown.has(id)));
    await this.copyDiffering(all.filter(({ id }) => differing.has(id)));
    if (unknown.size + differing.size > 0) await this.copyVerdicts();
    await this.copyFreshPlaces();
    await this.copyEdges(`stage_relationship (${EDGE_COLUMNS})`);
    return { created, known: [] };
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
    const fresh = new Set(
      await this.ids(
        `SELECT s.asset_id || ' ' || s.id FROM stage_place s
         WHERE NOT EXISTS (SELECT FROM asset_occurrence o WHERE o.asset_id = s.asset_id AND o.source_id = $1 AND o.id = s.id)`,
        [this.sourceId],
      ),
    );
    if (fresh.size === 0) return;
    await this.copy(`asset_occurrence (${PLACE_COLUMNS})`, all(), (to, { assetId, place }) => {
      if (fresh.has(`${assetId} ${place.id}`)) to.fields(place.bytes, place.start, place.end);
    });
  }

  private async ids(text: string, values: unknown[] = []): Promise<string[]> {
    const { rows } = await this.client.query<[string]>({ text, values, rowMode: 'array' });
    return rows.map(([id]) => id);
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

  private copyVerdicts(): Promise<void> {
    return this.copy('stage_verdict', this.rows.verdicts(), (to, { id, subject, verdict }) => {
      to.row(3);
      to.uuid(id);
      to.jsonb(JSON.stringify(subject));
      to.jsonb(JSON.stringify(verdict));
    });
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
