import type { VerdictFacts } from '../model/risk-verdict.js';
import type { IdentifiedAsset, JudgedAsset } from './asset-rows.js';
import type { VerdictRow } from './judge.js';

/** How many new assets have a value. */
export interface NewCount {
  readonly dimension: string;
  readonly value: string;
  readonly level: number;
  count: number;
}

/** Facts of verdicts by their ids. */
export type FactsById = ReadonlyMap<string, VerdictFacts>;

/** Assets that are counted alike. */
interface Alike {
  /** The first of them. */
  readonly asset: IdentifiedAsset;
  readonly verdict: VerdictRow | undefined;
  count: number;
  readonly names: string[];
}

const MAX_NAMES = 3;

/** Counts new assets as they are written: the database need not read them again. */
export class NewAssets {
  total = 0;
  private readonly alike = new Map<string, Alike>();
  private facts: FactsById = new Map();

  add({ asset, verdict }: JudgedAsset): void {
    this.total += 1;
    const key = `${asset.kind} ${verdict?.id} ${asset.row.expires}`;
    const known = this.alike.get(key);
    if (known === undefined) {
      this.alike.set(key, { asset, verdict, count: 1, names: [asset.name] });
      return;
    }
    known.count += 1;
    if (known.names.length < MAX_NAMES) known.names.push(asset.name);
  }

  verdictIds(): string[] {
    const ids = [...this.alike.values()].map(({ verdict }) => verdict?.id).filter((id) => id !== undefined);
    return [...new Set(ids)];
  }

  /** @param facts as the database has them: a verdict that was there before may be of an earlier edition of the rules. */
  setFacts(facts: FactsById): void {
    this.facts = facts;
  }

  /** By dimension, value and level. */
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

  /** Assets other than plain components, by level, with a few names of each. */
  levels(): { level: number; count: number; names: string[] }[] {
    const levels = new Map<number, { level: number; count: number; names: string[] }>();
    for (const { asset, verdict, count, names } of this.alike.values()) {
      if (asset.kind === 'component') continue;
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

/** The values of an asset by dimension, as `tallied` in model/tally.ts has them. */
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
