import { Injectable } from '@nestjs/common';
import { includesKey, type KeyLimits } from '../../../access/key-patterns.js';
import { ServiceCryptoAssets } from '../../../platform/events/service-crypto-assets.js';
import { hashId } from '../../model/asset-identity.js';
import { componentOf } from '../../intake/staging/asset-rows.js';
import { DocumentAssets } from '../../intake/staging/document-assets.js';
import type { DraftOccurrence } from '../../model/document.js';
import { DraftRefs } from '../../model/draft-refs.js';
import { readSensorScan } from '../../intake/staging/sensor-scan-reader.js';
import type { ShownComponent } from './bom-queries.js';
import type { Snapshot } from './snapshot.js';

/** OwnLines contains lines in the same format as the results of the export queries: a comma and a JSON text. */
export interface OwnLines {
  readonly components: readonly string[];
  readonly dependencies: readonly string[];
}

export const NOTHING_OWN: OwnLines = { components: [], dependencies: [] };

/** OwnComponents lists the service's signing keys, certificates and host keys as components, with the ids that these assets have in the inventory. */
@Injectable()
export class OwnComponents {
  constructor(private readonly cryptoAssets: ServiceCryptoAssets) {}

  /** Returns lines for the components that the export does not already contain, without signing keys that the caller cannot use. */
  async lines(
    snapshot: Snapshot,
    { where, values }: Pick<ShownComponent, 'where' | 'values'>,
    { keys }: KeyLimits,
  ): Promise<OwnLines> {
    const all = await this.cryptoAssets.all();
    const assets = all.flatMap(({ signingKey, ...asset }) =>
      signingKey === undefined || includesKey(keys, signingKey) ? [asset] : [],
    );
    const draft = readSensorScan({ assets }, 'strict');
    const found = new DocumentAssets(draft, { id: hashId('source', NAME), name: NAME });
    const conditions = [...where, `a.id = ANY($${values.length + 1}::uuid[])`].join(' AND ');
    const known = await snapshot.query<{ id: string }>(`SELECT a.id FROM judged_asset a WHERE ${conditions}`, [
      ...values,
      found.all().map(({ id }) => id),
    ]);
    const shown = new Set(known.map(({ id }) => id));
    const missing = found.all().filter(({ id }) => !shown.has(id));
    const places = new Map<string | undefined, DraftOccurrence[]>();
    for (const { ref, occurrences } of draft.assets(new DraftRefs())) {
      const id = found.idOf(ref);
      const collected = places.get(id);
      if (collected === undefined) places.set(id, [...occurrences]);
      else for (const place of occurrences) collected.push(place);
    }
    const components = missing.map((asset) => {
      const evidence = evidenceOf(places.get(asset.id) ?? []);
      return `,{"bom-ref":"${asset.id}",${evidence}${componentOf(asset).slice(1)}`;
    });
    const dependencies = missing.map(({ id: ref, edges }) => {
      const dependsOn = edges.filter(({ kind }) => kind === 'dependsOn').map(({ to }) => to.id);
      return `,${JSON.stringify({ ref, ...(dependsOn.length === 0 ? {} : { dependsOn }) })}`;
    });
    return { components, dependencies };
  }
}

const NAME = 'Sealwright';

function evidenceOf(places: readonly DraftOccurrence[]): string {
  const occurrences = places
    .filter(({ location }) => location !== '')
    .map(({ location, symbol }) => JSON.stringify({ location, ...(symbol === null ? {} : { symbol }) }));
  return occurrences.length === 0 ? '' : `"evidence":{"occurrences":[${[...new Set(occurrences)].join()}]},`;
}
