import { EMPTY_ROOT, nodeHash } from './merkle-tree.js';

export interface Inclusion {
  readonly index: number;
  readonly size: number;
  readonly leaf: Buffer;
  readonly path: readonly Buffer[];
}

/** Climb is the position of a proof in the tree: a node and the last node on the same level. */
class Climb {
  private node: number;
  private last: number;

  // Parameter properties are not used, because tests run the key process from source with only the types removed.
  constructor(node: number, last: number) {
    this.node = node;
    this.last = last;
  }

  get atTop(): boolean {
    return this.last === 0;
  }

  /** Reports whether the next hash of the proof is on the left. Levels where the node has no sibling are skipped. */
  isLeftNext(): boolean {
    const left = this.node % 2 === 1 || this.node === this.last;
    if (left) while (this.node % 2 === 0 && this.node !== 0) this.up();
    return left;
  }

  // Sizes can exceed 2^31, and shift operators would truncate such values.
  up(): void {
    this.node = Math.floor(this.node / 2);
    this.last = Math.floor(this.last / 2);
  }

  /** Moves to the top of the full subtree that ends with the node. */
  skipRight(): void {
    while (this.node % 2 === 1) this.up();
  }
}

/** Returns the root computed from an inclusion proof, or undefined if the proof is malformed (RFC 9162 section 2.1.3.2). */
export function rootOfInclusion({ index, size, leaf, path }: Inclusion): Buffer | undefined {
  if (index < 0 || index >= size) return undefined;
  const climb = new Climb(index, size - 1);
  let hash = leaf;
  for (const beside of path) {
    if (climb.atTop) return undefined;
    hash = climb.isLeftNext() ? nodeHash(beside, hash) : nodeHash(hash, beside);
    climb.up();
  }
  return climb.atTop ? hash : undefined;
}

export interface Consistency {
  readonly first: number;
  readonly firstRoot: Buffer;
  readonly second: number;
  readonly secondRoot: Buffer;
  readonly path: readonly Buffer[];
}

/** Reports whether the tree of size `first` is a prefix of the tree of size `second` (RFC 9162 section 2.1.4.2). */
export function isConsistent(proof: Consistency): boolean {
  const { first, firstRoot, second, secondRoot, path } = proof;
  if (first > second || first < 0) return false;
  if (first === second) return path.length === 0 && firstRoot.equals(secondRoot);
  // The empty tree is a prefix of every tree. An empty tree with a root other than EMPTY_ROOT is invalid.
  if (first === 0) return path.length === 0 && firstRoot.equals(EMPTY_ROOT);
  const [start, ...hashes] = Number.isInteger(Math.log2(first)) ? [firstRoot, ...path] : path;
  return start !== undefined && leadsToBoth(proof, start, hashes);
}

function leadsToBoth({ first, firstRoot, second, secondRoot }: Consistency, start: Buffer, hashes: Buffer[]): boolean {
  const climb = new Climb(first - 1, second - 1);
  climb.skipRight();
  let [old, now] = [start, start];
  for (const beside of hashes) {
    if (climb.atTop) return false;
    if (climb.isLeftNext()) [old, now] = [nodeHash(beside, old), nodeHash(beside, now)];
    else now = nodeHash(now, beside);
    climb.up();
  }
  return climb.atTop && old.equals(firstRoot) && now.equals(secondRoot);
}
