import type { VerdictFacts } from '../../model/risk-verdict.js';
import type { IdentifiedAsset, WrittenAsset } from './asset-rows.js';
import type { VerdictRow } from './judge.js';

/** NewCount is the number of new assets with one value of a dimension. */
export interface NewCount {
  readonly dimension: string;
  readonly value: string;
  readonly level: number;
  count: number;
}

/** FactsById maps verdict ids to facts. */
export type FactsById = ReadonlyMap<string, VerdictFacts>;

/** A group of assets that are counted in the same way. */
interface Alike {
  /** First asset of the group. */
  readonly asset: IdentifiedAsset;
  readonly verdict: VerdictRow | undefined;
  count: number;
  readonly names: string[];
}

const MAX_NAMES = 3;

/** NewAssets counts new assets as the assets are written, so that no query is needed to count them. */
export class NewAssets {
  total = 0;
  private readonly alike = new Map<string, Alike>();
  /** Assets that may replace other assets, by id. */
  private readonly byId = new Map<string, Alike>();
  private facts: FactsById = new Map();

  /** @param maySucceed whether the asset may replace another asset */
  add({ asset, verdict }: WrittenAsset, maySucceed: boolean): void {
    this.total += 1;
    const key = `${asset.kind} ${verdict?.id} ${asset.row.expires}`;
    let alike = this.alike.get(key);
    if (alike === undefined) {
      alike = { asset, verdict, count: 0, names: [] };
      this.alike.set(key, alike);
    }
    alike.count += 1;
    if (alike.names.length < MAX_NAMES) alike.names.push(asset.name);
    if (maySucceed) this.byId.set(asset.id, alike);
  }

  /** Reports whether a new asset with this id may replace another asset. */
  has(id: string): boolean {
    return this.byId.has(id);
  }

  verdictIds(): string[] {
    const ids = [...this.alike.values()].map(({ verdict }) => verdict?.id).filter((id) => id !== undefined);
    return [...new Set(ids)];
  }

  /** @param facts stored facts, because the verdict in an existing row may be from an earlier edition of the rules */
  setFacts(facts: FactsById): void {
    this.facts = facts;
  }

  /** Returns the counts by dimension, value and level. */
  counts(): NewCount[] {
    const counts = new Map<string, NewCount>();
    for (const { asset, verdict, count } of this.alike.values()) {
      const facts = this.factsOf(verdict);
      const level = facts?.level ?? -1;
      for (const [dimension, value] of valuesOf(asset, verdict, facts)) {
        if (value === null) continue;
        const key = `${dimension} ${level} ${value}`;
        const known = counts.get(key);
        if (known === undefined) counts.set(key, { dimension, value, level, count });
        else known.count += count;
      }
    }
    return [...counts.values()];
  }

  /** Counts assets other than plain components by level, with a few names per level. @param except ids of assets that are not counted */
  levels(except: readonly string[] = []): { level: number; count: number; names: string[] }[] {
    const levels = new Map<number, { level: number; count: number; names: string[] }>();
    const left = new Map<Alike, number>();
    for (const alike of except.map((id) => this.byId.get(id)))
      if (alike !== undefined) left.set(alike, (left.get(alike) ?? alike.count) - 1);
    for (const alike of this.alike.values()) {
      const { asset, verdict, names } = alike;
      const count = left.get(alike) ?? alike.count;
      if (asset.kind === 'component' || count === 0) continue;
      const level = this.factsOf(verdict)?.level ?? 0;
      const known = levels.get(level);
      if (known === undefined) levels.set(level, { level, count, names: [...names] });
      else {
        known.count += count;
        known.names.push(...names.slice(0, MAX_NAMES - known.names.length));
      }
    }
    return [...levels.values()];
  }

  private factsOf(verdict: VerdictRow | undefined): VerdictFacts | undefined {
    return verdict === undefined ? undefined : this.facts.get(verdict.id);
  }
}

/** Returns the values of an asset by dimension, like `tallied` in model/tally.ts. */
function valuesOf(
  { kind, row }: IdentifiedAsset,
  verdict: VerdictRow | undefined,
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
    ['expiry', row.expires],
    ['verdict', verdict?.id ?? null],
  ];
}
