import { describe, expect, it } from 'vitest';
import {
  EMPTY_ROOT,
  leafHash,
  nodeHash,
  consistencyPath,
  inclusionPath,
  joinedSubtrees,
  type Range,
  subtreesOf,
} from './merkle-tree.js';
import { isConsistent, rootOfInclusion } from './merkle-proof.js';

const leaves = Array.from({ length: 70 }, (_, i) => leafHash(`leaf ${i}`));

/** Computes the MTH as defined in RFC 6962 section 2.1. */
function treeHash(hashes: readonly Buffer[]): Buffer {
  if (hashes.length === 0) return EMPTY_ROOT;
  if (hashes.length === 1) return hashes[0] as Buffer;
  let k = 1;
  while (k * 2 < hashes.length) k *= 2;
  return nodeHash(treeHash(hashes.slice(0, k)), treeHash(hashes.slice(k)));
}

const rangeHash = ({ from, to }: Range) =>
  joinedSubtrees(
    subtreesOf({ from, to }).map(({ height, index }) =>
      treeHash(leaves.slice(index * 2 ** height, (index + 1) * 2 ** height)),
    ),
  );
const root = (size: number) => treeHash(leaves.slice(0, size));

describe('proofs in trees of 1 to 70 leaves', () => {
  it('match the known answers of RFC 6962 implementations', () => {
    expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(leafHash('').toString('hex')).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
  });

  it('prove every leaf in every tree, but not at another index or for another leaf', () => {
    for (let size = 1; size <= leaves.length; size++) {
      for (let index = 0; index < size; index++) {
        const path = inclusionPath(index, size).map(rangeHash);
        const leaf = leaves[index] as Buffer;
        expect(rootOfInclusion({ index, size, leaf, path })).toEqual(root(size));
        expect(rootOfInclusion({ index, size, leaf: leafHash('other'), path })).not.toEqual(root(size));
        expect(rootOfInclusion({ index: index - 1, size, leaf, path })).not.toEqual(root(size));
      }
    }
  });

  it('prove consistency of every tree with every later one, but not of a modified one', () => {
    for (let second = 1; second <= leaves.length; second++) {
      for (let first = 1; first <= second; first++) {
        const path = consistencyPath(first, second).map(rangeHash);
        const proof = { first, firstRoot: root(first), second, secondRoot: root(second), path };
        expect(isConsistent(proof)).toBe(true);
        expect(isConsistent({ ...proof, firstRoot: leafHash('other') })).toBe(false);
        expect(isConsistent({ ...proof, secondRoot: leafHash('other') })).toBe(false);
        expect(isConsistent({ ...proof, path: [...path, root(1)] })).toBe(false);
      }
    }
  });

  it('are valid for their two sizes only, and from the empty tree only with its root', () => {
    for (let second = 2; second <= leaves.length; second++) {
      for (const first of [1, second >> 1, second - 1].filter((size) => size > 0)) {
        const path = consistencyPath(first, second).map(rangeHash);
        const proof = { first, firstRoot: root(first), second, secondRoot: root(second), path };
        expect(isConsistent({ ...proof, path: path.slice(0, -1) })).toBe(false);
        expect(isConsistent({ ...proof, first: 0, firstRoot: EMPTY_ROOT })).toBe(path.length === 0);
        expect(isConsistent({ ...proof, first: second, second: first })).toBe(false);
        expect(isConsistent({ ...proof, second: second * 4 })).toBe(false);
      }
    }
    const begun = { first: 0, firstRoot: EMPTY_ROOT, second: 3, secondRoot: root(3), path: [] };
    expect(isConsistent(begun)).toBe(true);
    expect(isConsistent({ ...begun, firstRoot: root(1) })).toBe(false);
    expect(isConsistent({ ...begun, second: 0 })).toBe(false);
    expect(isConsistent({ ...begun, first: 3, firstRoot: root(2) })).toBe(false);
  });
});
