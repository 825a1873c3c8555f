import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { stopQueryTimer } from '../../platform/database/copy-timer.js';
import type { AssetRow, DocumentRows } from './asset-rows.js';
import { copyText } from './copy-text.js';
import type { EdgeRow, OccurrenceRow } from './identify.js';
import type { IngestProgress } from './ingest-order.js';
import { NewAssets } from './new-assets.js';

const CHUNK = 256 * 1024;
const MANY = 200;
const TOLD_EVERY = 5000;

/** Temporary tables of the connection that takes documents in; emptied by every commit. Their rows are joined as sets: no indexes. */
export const STAGING = `
  CREATE TEMP TABLE IF NOT EXISTS stage_key (id uuid, content uuid) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_asset (
    id uuid, kind text, name text, family text, bits int, level smallint, quantum text, classical text, rule text,
    deadline date, verdict_id uuid, resolved_by jsonb, not_before timestamptz, not_after timestamptz, component json, content uuid
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_place (asset_id uuid, id uuid) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_relationship (from_id uuid, to_id uuid, kinds smallint) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_verdict (id uuid, subject jsonb, verdict jsonb) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_changed (
    id uuid PRIMARY KEY, kind text, quantum text, family text, bits int, level smallint, state text, owner text, deadline date, not_after timestamptz
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_touched (id uuid PRIMARY KEY) ON COMMIT DELETE ROWS;`;

/**
 * Brings rows to the database by COPY, the fastest way in that PostgreSQL has. What was never heard of goes where it belongs at once;
 * of what is there already and says the same, only the key travels.
 *
 * An asset that somebody else brings in at the same time makes the COPY fail with a unique violation: the document is then tried again.
 */
export class Staging {
  constructor(
    private readonly client: PoolClient,
    private readonly rows: DocumentRows,
    private readonly sourceId: string,
    private readonly tell: (progress: IngestProgress) => void,
  ) {}

  /** The source reports for the first time: no place and no edge of it can be there, and nothing be missing. */
  async ofNewSource(): Promise<NewAssets> {
    const { rows } = this;
    const known = new Set(
      await this.ids('SELECT id FROM asset WHERE id = ANY($1::uuid[])', [`{${rows.ids.join(',')}}`]),
    );
    const created = await this.copyNew(rows.assets(rows.ids.filter((id) => !known.has(id))));
    await this.copy('stage_asset', rows.assets(rows.ids.filter((id) => known.has(id))), assetLine);
    await this.copyVerdicts();
    await this.copyPlaces(rows.occurrences());
    const { sourceId } = this;
    await this.copy('asset_relationship (from_id, to_id, kinds, source_id)', rows.relationships, (edge) =>
      edgeLine(edge, `\t${sourceId}`),
    );
    return created;
  }

  async ofKnownSource(): Promise<NewAssets> {
    const { rows } = this;
    const assets = [...rows.assets()];
    await this.copy('stage_key', assets, ({ id, content }) => `${id}\t${content}\n`);
    const unknown = new Set(
      await this.ids('SELECT s.id FROM stage_key s WHERE NOT EXISTS (SELECT FROM asset a WHERE a.id = s.id)'),
    );
    const differing = new Set(
      await this.ids(
        `SELECT s.id FROM stage_key s JOIN asset a ON a.id = s.id WHERE a.content <> s.content OR a.state <> 'active'`,
      ),
    );
    const created = await this.copyNew(assets.filter(({ id }) => unknown.has(id)));
    await this.copy(
      'stage_asset',
      assets.filter(({ id }) => differing.has(id)),
      assetLine,
    );
    if (unknown.size + differing.size > 0) await this.copyVerdicts();
    const places = [...rows.occurrences()];
    await this.copy('stage_place', places, ({ assetId, id }) => `${assetId}\t${id}\n`);
    const fresh = new Set(
      await this.ids(
        `SELECT s.asset_id || ' ' || s.id FROM stage_place s
         WHERE NOT EXISTS (SELECT FROM asset_occurrence o WHERE o.asset_id = s.asset_id AND o.source_id = $1 AND o.id = s.id)`,
        [this.sourceId],
      ),
    );
    await this.copyPlaces(places.filter(({ assetId, id }) => fresh.has(`${assetId} ${id}`)));
    await this.copy('stage_relationship', rows.relationships, (edge) => edgeLine(edge, ''));
    return created;
  }

  private async ids(text: string, values: unknown[] = []): Promise<string[]> {
    const { rows } = await this.client.query<[string]>({ text, values, rowMode: 'array' });
    return rows.map(([id]) => id);
  }

  /** Into the table itself. */
  private async copyNew(assets: Iterable<AssetRow>): Promise<NewAssets> {
    const created = new NewAssets();
    await this.copy(`asset (${ASSET_COLUMNS})`, assets, (row) => {
      created.add(row);
      if (created.total % TOLD_EVERY === 0)
        this.tell({ phase: 'WRITING', done: created.total, total: this.rows.ids.length });
      return assetLine(row);
    });
    return created;
  }

  private copyVerdicts(): Promise<void> {
    return this.copy(
      'stage_verdict',
      this.rows.verdicts(),
      ({ id, subject, verdict }) =>
        `${id}\t${copyText(JSON.stringify(subject))}\t${copyText(JSON.stringify(verdict))}\n`,
    );
  }

  /** Into the table itself: one document of a source at a time is written, and these places are not there. */
  private copyPlaces(occurrences: Iterable<OccurrenceRow>): Promise<void> {
    const { sourceId } = this;
    return this.copy(
      'asset_occurrence (asset_id, source_id, id, location, line, position, symbol, context)',
      occurrences,
      ({ assetId, id, location, line, position, symbol, context }) =>
        `${assetId}\t${sourceId}\t${id}\t${copyText(location)}\t${line ?? NULL}\t${position ?? NULL}\t${copyText(symbol)}\t${copyText(context)}\n`,
    );
  }

  /** The database works on what it has while the next rows are made. */
  private async copy<Row>(table: string, rows: Iterable<Row>, lineOf: (row: Row) => string): Promise<void> {
    const all = rows[Symbol.iterator]();
    let next = all.next();
    if (next.done === true) return;
    const stream = this.client.query(copyFrom(`COPY ${table} FROM STDIN`));
    const done = finished(stream);
    // A failure is heard by the await below; until then it must not count as unhandled.
    done.catch(() => undefined);
    let lines = '';
    let count = 0;
    for (; next.done !== true; next = all.next()) {
      lines += lineOf(next.value);
      count += 1;
      if (lines.length < CHUNK) continue;
      if (!stream.write(lines)) await Promise.race([once(stream, 'drain'), done]);
      lines = '';
    }
    stream.end(lines);
    await done;
    stopQueryTimer(stream);
    // Of a temporary table that was not analyzed the planner assumes that it is small.
    if (count > MANY && table.startsWith('stage_')) await this.client.query(`ANALYZE ${table}`);
  }
}

const NULL = String.raw`\N`;

function edgeLine({ fromId, toId, kinds }: EdgeRow, more: string): string {
  return `${fromId}\t${toId}\t${kinds}${more}\n`;
}

/** In the order of `assetLine`. */
const ASSET_COLUMNS =
  'id, kind, name, family, bits, level, quantum, classical, rule, deadline, verdict_id, resolved_by, not_before, not_after, component, content';

function assetLine(row: AssetRow): string {
  const { id, kind, name, family, bits, level, quantum, classical, rule, deadline, verdictId, content } = row;
  return `${id}\t${kind}\t${copyText(name)}\t${copyText(family)}\t${bits ?? NULL}\t${level ?? NULL}\t${quantum ?? NULL}\t${classical ?? NULL}\t${copyText(rule)}\t${deadline ?? NULL}\t${verdictId ?? NULL}\t${row.resolvedBy ?? NULL}\t${row.notBefore ?? NULL}\t${row.notAfter ?? NULL}\t${copyText(row.component)}\t${content}\n`;
}
