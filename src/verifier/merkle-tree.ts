import { createHash } from 'node:crypto';

/** Length of every hash in the tree (SHA-256). */
export const HASH_BYTES = 32;

const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

/** Returns the MTH of one entry (RFC 6962 section 2.1). The prefix prevents a leaf from being presented as a node. */
export function leafHash(data: Buffer | string): Buffer {
  return createHash('sha256').update(LEAF).update(data).digest();
}

export function nodeHash(left: Buffer, right: Buffer): Buffer {
  return createHash('sha256').update(NODE).update(left).update(right).digest();
}

/** MTH of the empty list: the hash of no bytes. */
export const EMPTY_ROOT = createHash('sha256').digest();

/** Returns the root over adjacent hashes. The number of hashes must be a power of two. */
export function perfectRoot(hashes: readonly Buffer[]): Buffer {
  let level = [...hashes];
  while (level.length > 1) {
    const above: Buffer[] = [];
    for (let at = 0; at < level.length; at += 2) above.push(nodeHash(level[at] as Buffer, level[at + 1] as Buffer));
    level = above;
  }
  return level[0] ?? EMPTY_ROOT;
}

/** Leaves from `from` (inclusive) to `to` (exclusive). */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A full subtree: 2^height leaves, starting at a multiple of that number. */
export interface Subtree {
  readonly height: number;
  readonly index: number;
}

/** Returns the largest power of two smaller than `count` (k in RFC 6962 section 2.1). */
function split(count: number): number {
  return 2 ** Math.floor(Math.log2(count - 1));
}

/** Returns the ranges whose hashes form the audit path of a leaf in the tree of this size, leaf to root (RFC 6962 section 2.1.1). */
export function inclusionPath(index: number, size: number): Range[] {
  const path: Range[] = [];
  let range: Range = { from: 0, to: size };
  while (range.to - range.from > 1) {
    const middle = range.from + split(range.to - range.from);
    const [inside, beside] =
      index < middle
        ? [
            { from: range.from, to: middle },
            { from: middle, to: range.to },
          ]
        : [
            { from: middle, to: range.to },
            { from: range.from, to: middle },
          ];
    path.unshift(beside);
    range = inside;
  }
  return path;
}

/** Returns the ranges whose hashes prove that the tree of size `first` is a prefix of the tree of size `second` (RFC 6962 section 2.1.2). */
export function consistencyPath(first: number, second: number): Range[] {
  if (first === 0 || first === second) return [];
  const path: Range[] = [];
  let range: Range = { from: 0, to: second };
  // The verifier knows the root of the first tree, so the proof omits that root if the first tree is a full subtree of the second.
  while (range.to !== first) {
    const middle = range.from + split(range.to - range.from);
    if (first <= middle) {
      path.unshift({ from: middle, to: range.to });
      range = { from: range.from, to: middle };
    } else {
      path.unshift({ from: range.from, to: middle });
      range = { from: middle, to: range.to };
    }
  }
  return range.from === 0 ? path : [range, ...path];
}

/** Returns the full subtrees of a range, left to right. The range must be from a path, or start at 0. */
export function subtreesOf({ from, to }: Range): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let at = from; at < to;) {
    const height = Math.floor(Math.log2(to - at));
    subtrees.push({ height, index: at / 2 ** height });
    at += 2 ** height;
  }
  return subtrees;
}

/** Returns the hash of a range, given the hashes of its full subtrees, left to right. */
export function joinedSubtrees(hashes: readonly Buffer[]): Buffer {
  return hashes.toReversed().reduce((right, left) => nodeHash(left, right));
}

/**
 * GrowingRoot computes the root of a growing tree (RFC 6962). It stores only the current full subtrees, largest first, and therefore needs only logarithmic
 * memory.
 */
export class GrowingRoot {
  private readonly peaks: { height: number; hash: Buffer }[] = [];
  size = 0;

  add(hash: Buffer): void {
    let peak = { height: 0, hash };
    for (let last = this.peaks.at(-1); last?.height === peak.height; last = this.peaks.at(-1)) {
      peak = { height: peak.height + 1, hash: nodeHash(last.hash, peak.hash) };
      this.peaks.pop();
    }
    this.peaks.push(peak);
    this.size += 1;
  }

  /** Returns the tree of `size` leaves whose full subtrees have these hashes, largest first. */
  static of(size: number, hashes: readonly Buffer[]): GrowingRoot {
    const tree = new GrowingRoot();
    const heights = size === 0 ? [] : subtreesOf({ from: 0, to: size }).map(({ height }) => height);
    if (heights.length !== hashes.length)
      throw new Error(`expected ${heights.length} subtree hashes for ${size} leaves, but got ${hashes.length}`);
    hashes.forEach((hash, i) => tree.peaks.push({ height: heights[i] ?? 0, hash }));
    tree.size = size;
    return tree;
  }

  /** Returns the hashes of the full subtrees, largest first. */
  hashes(): Buffer[] {
    return this.peaks.map(({ hash }) => hash);
  }

  root(): Buffer {
    const [last, ...rest] = this.peaks.toReversed();
    return last === undefined ? EMPTY_ROOT : rest.reduce((right, { hash }) => nodeHash(hash, right), last.hash);
  }
}
