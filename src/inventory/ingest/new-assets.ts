import type { VerdictFacts } from '../model/verdict-facts.js';
import type { VerdictRow, WrittenAsset } from './asset-rows.js';
import type { IdentifiedAsset } from './identified-asset.js';

/** What new assets are counted by. */
export interface NewCount {
  readonly dimension: string;
  readonly value: string;
  readonly level: number;
  count: number;
}

/** What the verdicts of assets say, by their ids. */
export type NewAssetFacts = ReadonlyMap<string, VerdictFacts>;

/** Assets that share all that counts. */
interface Alike {
  /** The first of them. */
  readonly asset: IdentifiedAsset;
  readonly judged: VerdictRow | undefined;
  count: number;
  readonly names: string[];
}

const MAX_NAMES = 3;

/** Counts new assets as they are made: the database need not read them again. */
export class NewAssets {
  total = 0;
  private readonly alike = new Map<string, Alike>();
  private facts: NewAssetFacts = new Map();

  add({ asset, judged }: WrittenAsset): void {
    this.total += 1;
    const key = `${asset.kind} ${judged?.id} ${asset.stored.expires}`;
    const known = this.alike.get(key);
    if (known === undefined) {
      this.alike.set(key, { asset, judged, count: 1, names: [asset.name] });
      return;
    }
    known.count += 1;
    if (known.names.length < MAX_NAMES) known.names.push(asset.name);
  }

  verdictIds(): string[] {
    const ids = [...this.alike.values()].map(({ judged }) => judged?.id).filter((id) => id !== undefined);
    return [...new Set(ids)];
  }

  /** What the database says of their verdicts, which other rules may have made than those of today. */
  learn(facts: NewAssetFacts): void {
    this.facts = facts;
  }

  /** By dimension, value and level. */
  counts(): NewCount[] {
    const counts = new Map<string, NewCount>();
    for (const { asset, judged, count } of this.alike.values()) {
      const facts = this.factsOf(judged);
      const level = facts?.level ?? -1;
      for (const [dimension, value] of valuesOf(asset, judged, facts)) {
        if (value === null) continue;
        const key = `${dimension} ${level} ${value}`;
        const known = counts.get(key);
        if (known === undefined) counts.set(key, { dimension, value, level, count });
        else known.count += count;
      }
    }
    return [...counts.values()];
  }

  /** Assets other than plain components, by level, with a few names of each. */
  levels(): { level: number; count: number; names: string[] }[] {
    const levels = new Map<number, { level: number; count: number; names: string[] }>();
    for (const { asset, judged, count, names } of this.alike.values()) {
      if (asset.kind === 'component') continue;
      const level = this.factsOf(judged)?.level ?? 0;
      const known = levels.get(level);
      if (known === undefined) levels.set(level, { level, count, names: [...names] });
      else {
        known.count += count;
        known.names.push(...names.slice(0, MAX_NAMES - known.names.length));
      }
    }
    return [...levels.values()];
  }

  private factsOf(judged: VerdictRow | undefined): VerdictFacts | undefined {
    return judged === undefined ? undefined : this.facts.get(judged.id);
  }
}

/** As tally.ts counts what has changed. */
function valuesOf(
  { kind, stored }: IdentifiedAsset,
  judged: VerdictRow | undefined,
  facts: VerdictFacts | undefined,
): [string, string | null][] {
  const { quantum = null, family = null, bits = null, deadline = null } = facts ?? {};
  return [
    ['kind', kind],
    ['state', 'active'],
    ['owner', ''],
    ['quantum', quantum],
    ['family', family ?? ''],
    ['size', family === null || bits === null ? null : `${family} ${bits}`],
    ['deadline', deadline],
    ['expiry', stored.expires],
    ['verdict', judged?.id ?? null],
  ];
}
