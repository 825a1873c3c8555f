import { hashId } from '../../model/asset-identity.js';
import type { DraftRef, RefLink } from '../../model/draft-refs.js';
import { namedAlgorithms } from '../../judgement/risk/named-algorithms.js';
import type { IdentifiedAsset } from './asset-rows.js';

/** ReferringAsset is an asset whose verdict may depend on its references. */
export interface ReferringAsset {
  readonly asset: IdentifiedAsset;
  readonly ref: DraftRef<IdentifiedAsset>;
  /** ID of the asset if its references are ignored. */
  readonly base: string;
}

/** PartIds maps assets to the ids that are included in the ids of assets that refer to them. */
export type PartIds = ReadonlyMap<IdentifiedAsset, string>;

/**
 * STEPS is the maximum number of references that a verdict follows. Example: a protocol refers to a key, which refers to another key, which refers to its
 * algorithm.
 */
const STEPS = 3;
const REFERENCES: ReadonlySet<string> = new Set(['cipherSuite', 'cryptoRef', 'dependsOn']);

/**
 * idsWithReferences returns the ids of assets whose identity includes their references (docs/decisions/0105): protocols, certificates that are identified
 * only by names, and algorithms whose name has no known meaning.
 *
 * Ids are computed in STEPS rounds. In each round, the id of an asset includes the ids that its targets had after the previous round. The result is therefore
 * independent of the document order, and cycles do not matter.
 *
 * @param looks hashes of the facts of keys that are distinguished only by their location
 */
export function idsWithReferences(referring: readonly ReferringAsset[], looks: PartIds): PartIds {
  const targets = new Map(referring.map((one) => [one, targetsOf(one)]));
  let ids = new Map(referring.map(({ asset, base }) => [asset, base]));
  for (let step = 0; step < STEPS; step += 1) {
    const next = new Map<IdentifiedAsset, string>();
    for (const one of referring) {
      const parts = (targets.get(one) ?? []).map((target) => ids.get(target) ?? looks.get(target) ?? target.id);
      next.set(one.asset, parts.length === 0 ? one.base : hashId('asset', 'told', one.base, distinct(parts)));
    }
    ids = next;
  }
  return ids;
}

/** targetsOf returns the algorithms and keys to which an asset refers, without duplicates. */
export function targetsOf({ asset, ref }: ReferringAsset): readonly IdentifiedAsset[] {
  const found = new Set<IdentifiedAsset>();
  const add = ({ kind, to: { asset: target } }: RefLink<IdentifiedAsset>) => {
    if (target === undefined || target === asset || !REFERENCES.has(kind)) return;
    if (target.kind === 'algorithm' || target.kind === 'related-crypto-material') found.add(target);
  };
  asset.links.forEach(add);
  ref.links.forEach(add);
  return [...found];
}

/** isToldByReferences reports whether the verdict of an algorithm depends on its references, because its name and facts have no known meaning. */
export function isToldByReferences({ asset, ref }: Pick<ReferringAsset, 'asset' | 'ref'>): boolean {
  if (asset.links.length === 0 && ref.links.length === 0) return false;
  return namedAlgorithms(asset.name, asset.traits.declared).ingredients.length === 0;
}

function distinct(ids: readonly string[]): string[] {
  return [...new Set(ids)].sort();
}
