import type { AssetRow } from './asset-rows.js';

/** What new assets are counted by. */
export interface NewCount {
  readonly dimension: string;
  readonly value: string;
  readonly level: number;
  count: number;
}

const MOST_NAMES = 3;

/** Counts new assets as they are made: the database need not read them again. Many share all that counts. */
export class NewAssets {
  total = 0;
  private readonly kinds = new Map<string, { row: AssetRow; count: number }>();
  private readonly named = new Map<number, string[]>();

  add(row: AssetRow): void {
    this.total += 1;
    const { kind, judged, notAfter } = row;
    const key = `${kind} ${judged?.id} ${notAfter?.slice(0, 10)}`;
    const known = this.kinds.get(key);
    if (known === undefined) this.kinds.set(key, { row, count: 1 });
    else known.count += 1;
    if (kind !== 'component') this.remember(row);
  }

  /** By dimension, value and level. */
  counts(): NewCount[] {
    const counts = new Map<string, NewCount>();
    for (const { row, count } of this.kinds.values())
      for (const [dimension, value] of facts(row)) {
        if (value === null) continue;
        const level = row.judged?.columns.level ?? -1;
        const key = `${dimension} ${level} ${value}`;
        const known = counts.get(key);
        if (known === undefined) counts.set(key, { dimension, value, level, count });
        else known.count += count;
      }
    return [...counts.values()];
  }

  /** Assets other than plain components, by level, with a few names of each. */
  levels(): { level: number; count: number; names: string[] }[] {
    const counts = new Map<number, number>();
    for (const { row, count } of this.kinds.values()) {
      const level = levelOf(row);
      if (row.kind !== 'component') counts.set(level, (counts.get(level) ?? 0) + count);
    }
    return [...counts].map(([level, count]) => ({ level, count, names: this.named.get(level) ?? [] }));
  }

  private remember(row: AssetRow): void {
    const names = this.named.get(levelOf(row));
    if (names === undefined) this.named.set(levelOf(row), [row.name]);
    else if (names.length < MOST_NAMES) names.push(row.name);
  }
}

function levelOf({ judged }: AssetRow): number {
  return judged?.columns.level ?? 0;
}

/** As merge.ts counts what has changed. */
function facts({ kind, judged, notAfter }: AssetRow): [string, string | null][] {
  const { quantum = null, family = null, bits = null, deadline = null } = judged?.columns ?? {};
  return [
    ['kind', kind],
    ['state', 'active'],
    ['owner', ''],
    ['quantum', quantum],
    ['family', family ?? ''],
    ['size', family === null || bits === null ? null : `${family} ${bits}`],
    ['deadline', deadline],
    ['expiry', notAfter?.slice(0, 10) ?? null],
  ];
}
