import type { Range } from '../../verifier/merkle-tree.js';

/** All leaves. An acceptance by an earlier version covers every leaf before its entry. */
const EVERYTHING: readonly Range[] = [{ from: 0, to: Number.MAX_SAFE_INTEGER }];

/**
 * acceptedDamage returns the damaged leaves that an operator accepted with an entry `audit-log.accepted` or `log.rolled-back`. Other damage to earlier
 * leaves is still detected. An entry of an earlier version lists no leaves and covers all leaves.
 */
export function acceptedDamage({ damaged }: Readonly<Record<string, unknown>>): readonly Range[] {
  if (!Array.isArray(damaged)) return EVERYTHING;
  return (damaged as readonly (readonly [number, number])[]).map(([from, to]) => ({ from, to }));
}

/** addLeaf adds a leaf whose index follows all ranges. */
export function addLeaf(ranges: Range[], index: number): void {
  const last = ranges.at(-1);
  const from = last?.to === index ? last.from : index;
  if (last?.to === index) ranges.pop();
  ranges.push({ from, to: index + 1 });
}

/** withoutLeaves returns `ranges` without the leaves in `others`. */
export function withoutLeaves(ranges: readonly Range[], others: readonly Range[]): Range[] {
  return others.reduce(
    (left, { from, to }) =>
      left.flatMap((range) =>
        [
          { from: range.from, to: Math.min(range.to, from) },
          { from: Math.max(range.from, to), to: range.to },
        ].filter((part) => part.from < part.to),
      ),
    [...ranges],
  );
}
