import { Injectable } from '@nestjs/common';
import { OwnAssets } from '../../platform/own-assets/own-assets.js';
import { AssetRows } from '../ingest/asset-rows.js';
import { DocumentAssets, type IdentifiedAsset, occurrenceRows } from '../ingest/document-assets.js';
import { readSensorScan } from '../ingest/sensor-scan-reader.js';
import { RuleBook } from '../risk/rule-book.js';
import type { Shown } from './bom-queries.js';
import type { Snapshot } from './snapshot.js';

/** Lines of an export, as its queries write them: a comma and a JSON text. */
export interface OwnLines {
  readonly components: readonly string[];
  readonly dependencies: readonly string[];
}

export const NOTHING_OWN: OwnLines = { components: [], dependencies: [] };

/** Signing keys, certificates and host keys of this service as components, with the ids that they have as assets of the inventory. */
@Injectable()
export class OwnComponents {
  constructor(
    private readonly own: OwnAssets,
    private readonly book: RuleBook,
  ) {}

  /** Those that the export does not show anyway. */
  async lines(snapshot: Snapshot, { where, values }: Pick<Shown, 'where' | 'values'>): Promise<OwnLines> {
    const assets = await this.own.all();
    const { engine } = await this.book.engineNow();
    const found = new DocumentAssets(readSensorScan({ assets }), 'Sealwright');
    const rows = new AssetRows(found, engine);
    const conditions = [...where, `a.id = ANY($${values.length + 1}::uuid[])`].join(' AND ');
    const known = await snapshot.query<{ id: string }>(`SELECT a.id FROM judged_asset a WHERE ${conditions}`, [
      ...values,
      found.all().map(({ id }) => id),
    ]);
    const shown = new Set(known.map(({ id }) => id));
    const missing = found.connected().filter(({ id }) => !shown.has(id));
    const components = missing.map((asset) => {
      const { component } = rows.rowOf(asset);
      return `,{"bom-ref":"${asset.id}",${evidenceOf(asset)}${component.slice(1)}`;
    });
    const dependencies = missing.map(({ id: ref, edges }) => {
      const dependsOn = edges.filter(({ kind }) => kind === 'dependsOn').map(({ to }) => to.id);
      return `,${JSON.stringify({ ref, ...(dependsOn.length === 0 ? {} : { dependsOn }) })}`;
    });
    return { components, dependencies };
  }
}

function evidenceOf(asset: IdentifiedAsset): string {
  const occurrences = occurrenceRows(asset)
    .filter(({ location }) => location !== '')
    .map(({ location, symbol }) => ({ location, ...(symbol === null ? {} : { symbol }) }));
  return occurrences.length === 0 ? '' : `"evidence":${JSON.stringify({ occurrences })},`;
}
