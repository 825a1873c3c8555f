import { createHash } from 'node:crypto';

/** Length of every hash of the tree: SHA-256. */
export const HASH_BYTES = 32;

const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

/** MTH of one entry (RFC 6962 section 2.1): the prefix keeps a leaf from being passed off as a node. */
export function leafHash(data: Buffer | string): Buffer {
  return createHash('sha256').update(LEAF).update(data).digest();
}

export function nodeHash(left: Buffer, right: Buffer): Buffer {
  return createHash('sha256').update(NODE).update(left).update(right).digest();
}

/** MTH of no entries: the hash of nothing. */
export const EMPTY_ROOT = createHash('sha256').digest();

/** Root of neighbouring hashes whose number is a power of two. */
export function perfectRoot(hashes: readonly Buffer[]): Buffer {
  let level = [...hashes];
  while (level.length > 1) {
    const above: Buffer[] = [];
    for (let at = 0; at < level.length; at += 2) above.push(nodeHash(level[at] as Buffer, level[at + 1] as Buffer));
    level = above;
  }
  return level[0] ?? EMPTY_ROOT;
}
