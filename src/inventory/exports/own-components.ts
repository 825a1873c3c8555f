import { Injectable } from '@nestjs/common';
import { OwnAssets } from '../../platform/own-assets/own-assets.js';
import { DocumentRows } from '../ingest/asset-rows.js';
import { readSensorScan } from '../ingest/sensor-scan-reader.js';
import { bitOf } from '../relationships/relationship-mask.js';
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
    const rows = new DocumentRows(readSensorScan({ assets }), 'Sealwright', engine);
    const conditions = [...where, `a.id = ANY($${values.length + 1}::uuid[])`].join(' AND ');
    const known = await snapshot.query<{ id: string }>(`SELECT a.id FROM asset a WHERE ${conditions}`, [
      ...values,
      rows.ids,
    ]);
    const shown = new Set(known.map(({ id }) => id));
    const ids = rows.ids.filter((id) => !shown.has(id));
    const components = [...rows.assets(ids)].map(({ id, component }) => {
      const places = [...rows.occurrences([id])].filter(({ location }) => location !== '');
      const occurrences = places.map(({ location, symbol }) => ({
        location,
        ...(symbol === null ? {} : { symbol }),
      }));
      const evidence = occurrences.length === 0 ? '' : `"evidence":${JSON.stringify({ occurrences })},`;
      return `,{"bom-ref":"${id}",${evidence}${component.slice(1)}`;
    });
    const dependencies = ids.map((ref) => {
      const uses = rows.relationships.filter(
        ({ fromId, kinds }) => fromId === ref && (kinds & bitOf('dependsOn')) !== 0,
      );
      const dependsOn = uses.map(({ toId }) => toId);
      return `,${JSON.stringify({ ref, ...(dependsOn.length === 0 ? {} : { dependsOn }) })}`;
    });
    return { components, dependencies };
  }
}
