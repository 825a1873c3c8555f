import { hashId } from '../model/asset-identity.js';
import type { DraftRef, RefLink } from '../model/draft-refs.js';
import { namedAlgorithms } from '../risk/named-algorithms.js';
import type { IdentifiedAsset } from './asset-rows.js';

/** An asset whose verdict may come from what it refers to. */
export interface ReferringAsset {
  readonly asset: IdentifiedAsset;
  readonly ref: DraftRef<IdentifiedAsset>;
  /** Its id without what it refers to. */
  readonly base: string;
}

/** The ids by which an asset counts for those that refer to it. */
export type PartIds = ReadonlyMap<IdentifiedAsset, string>;

/** How far a verdict follows references: a protocol names a key, whose algorithm is named by another one. */
const STEPS = 3;
const REFERENCES: ReadonlySet<string> = new Set(['cipherSuite', 'cryptoRef', 'dependsOn']);

/**
 * The ids of assets that are identified with what they refer to (decision 105): protocols, certificates of which nothing is known but
 * names, and algorithms whose own name means none.
 *
 * An id is made in as many rounds as a verdict takes steps. In each an asset takes up the ids that its targets have after the round
 * before, so that neither the order of the document nor a circle of references matters.
 *
 * @param looks what identifies keys whose place alone tells them from others.
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

/** The algorithms and keys that an asset refers to, each once. */
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

/** Whether the verdict of an algorithm comes from what it refers to: its own name and facts mean none that is known. */
export function isToldByReferences({ asset, ref }: Pick<ReferringAsset, 'asset' | 'ref'>): boolean {
  if (asset.links.length === 0 && ref.links.length === 0) return false;
  return namedAlgorithms(asset.name, asset.traits.declared).ingredients.length === 0;
}

function distinct(ids: readonly string[]): string[] {
  return [...new Set(ids)].sort();
}
