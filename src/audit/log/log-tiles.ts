import type { EntityManager } from 'typeorm';
import { columns } from '../../platform/database/statements.js';
import {
  EMPTY_ROOT,
  GrowingRoot,
  HASH_BYTES,
  perfectRoot,
  joinedSubtrees,
  type Range,
  type Subtree,
  subtreesOf,
} from '../../verifier/merkle-tree.js';

/** Key of the transaction-level advisory lock that serializes appends to the log. */
export const SEQUENCER_LOCK = 0x5ea1_0610;

/**
 * The tree is stored as rows of up to 256 hashes (the tiles of C2SP tlog-tiles): level 0 contains leaf hashes, and a hash of level n + 1 is the root of a
 * full tile of level n. A proof in a tree with millions of leaves reads a handful of rows.
 */
const TILE_HEIGHT = 8;
const TILE_WIDTH = 2 ** TILE_HEIGHT;

interface TileRow {
  readonly level: number;
  readonly index: string;
  readonly hashes: Buffer;
}

interface Place {
  readonly level: number;
  readonly index: number;
  /** Index of the first hash in the tile. */
  readonly first: number;
  readonly count: number;
}

const nameOf = ({ level, index }: { level: number; index: number | string }) => `${level}/${index}`;

function placeOf({ height, index }: Subtree): Place {
  const level = Math.floor(height / TILE_HEIGHT);
  const count = 2 ** (height % TILE_HEIGHT);
  const start = index * count;
  return { level, index: Math.floor(start / TILE_WIDTH), first: start % TILE_WIDTH, count };
}

function hashesIn(tile: Buffer): Buffer[] {
  return Array.from({ length: tile.length / HASH_BYTES }, (_, i) =>
    tile.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
  );
}

/** Returns the Merkle tree hash of each range, in order, with one query. Throws if the tree does not contain all leaves of the ranges. */
export async function rangeHashes(tx: EntityManager, ranges: readonly Range[]): Promise<Buffer[]> {
  const wanted = ranges.map((range) => subtreesOf(range).map(placeOf));
  const tiles = await readTiles(tx, wanted.flat());
  return wanted.map((places) => joinedSubtrees(places.map((place) => subtreeHash(tiles, place))));
}

/** Returns the hashes of the leaves in [from, to), fewer if the tree is smaller. `from` may be anywhere in a tile. */
export async function leafHashes(tx: EntityManager, from: number, to: number): Promise<Buffer[]> {
  const rows: { hashes: Buffer }[] = await tx.query(
    `SELECT hashes FROM log_tile WHERE level = 0 AND index >= $1 AND index <= $2 ORDER BY index`,
    [Math.floor(from / TILE_WIDTH), Math.floor((to - 1) / TILE_WIDTH)],
  );
  const all = rows.flatMap(({ hashes }) => hashesIn(hashes));
  return all.slice(from % TILE_WIDTH, (from % TILE_WIDTH) + to - from);
}

export async function rootOf(tx: EntityManager, size: number): Promise<Buffer> {
  if (size === 0) return EMPTY_ROOT;
  const [root] = await rangeHashes(tx, [{ from: 0, to: size }]);
  return root as Buffer;
}

/** Reads the tree of the first `size` leaves, to which more leaves can be added. */
export async function readTree(tx: EntityManager, size: number): Promise<GrowingRoot> {
  const places = subtreesOf({ from: 0, to: size }).map(placeOf);
  const tiles = await readTiles(tx, places);
  return GrowingRoot.of(
    size,
    places.map((place) => subtreeHash(tiles, place)),
  );
}

function subtreeHash(tiles: Map<string, Buffer>, place: Place): Buffer {
  const tile = tiles.get(nameOf(place));
  const [from, to] = [place.first * HASH_BYTES, (place.first + place.count) * HASH_BYTES];
  if (tile === undefined || tile.length < to)
    throw new Error(`tile ${nameOf(place)} is missing from the tree or too short`);
  return perfectRoot(hashesIn(tile.subarray(from, to)));
}

async function readTiles(
  tx: EntityManager,
  places: readonly { level: number; index: number }[],
): Promise<Map<string, Buffer>> {
  const named = new Map(places.map(({ level, index }) => [nameOf({ level, index }), { level, index: String(index) }]));
  const { from, values } = columns([...named.values()], { level: 'int', index: 'text' });
  const rows: TileRow[] = await tx.query(
    `SELECT t.level, t.index, t.hashes FROM log_tile t JOIN ${from} ON t.level = item.level AND t.index = item.index::bigint`,
    values,
  );
  return new Map(rows.map((row) => [nameOf(row), row.hashes]));
}

/** Appends leaf hashes to a tree of `size` leaves. The root of a full tile becomes a hash of the level above. */
export async function appendLeaves(tx: EntityManager, size: number, leaves: readonly Buffer[]): Promise<void> {
  const changed: { level: number; index: string; hashes: Buffer }[] = [];
  let hashes = leaves;
  for (let level = 0, there = size; hashes.length > 0; level++, there = Math.floor(there / TILE_WIDTH)) {
    const fullTileRoots: Buffer[] = [];
    let index = Math.floor(there / TILE_WIDTH);
    let tile = there % TILE_WIDTH === 0 ? Buffer.alloc(0) : await lastTile(tx, level, index, there % TILE_WIDTH);
    for (let at = 0; at < hashes.length; index++) {
      const free = TILE_WIDTH - tile.length / HASH_BYTES;
      tile = Buffer.concat([tile, ...hashes.slice(at, at + free)]);
      changed.push({ level, index: String(index), hashes: tile });
      if (tile.length === TILE_WIDTH * HASH_BYTES) fullTileRoots.push(perfectRoot(hashesIn(tile)));
      at += free;
      tile = Buffer.alloc(0);
    }
    hashes = fullTileRoots;
  }
  const { from, values } = columns(changed, { level: 'int', index: 'text', hashes: 'bytea' });
  await tx.query(
    `INSERT INTO log_tile (level, index, hashes) SELECT level, index::bigint, hashes FROM ${from}
     ON CONFLICT (level, index) DO UPDATE SET hashes = excluded.hashes`,
    values,
  );
}

/** Truncates the tree to `size` leaves, so that leaves can be appended. Throws if the tree has fewer leaves. */
export async function truncateTree(tx: EntityManager, size: number): Promise<void> {
  await readTree(tx, size);
  const [last]: { level: number | null }[] = await tx.query('SELECT max(level) AS level FROM log_tile');
  for (let level = 0, count = size; level <= (last?.level ?? -1); level++, count = Math.floor(count / TILE_WIDTH)) {
    const [index, width] = [Math.floor(count / TILE_WIDTH), count % TILE_WIDTH];
    await tx.query('DELETE FROM log_tile WHERE level = $1 AND index >= $2', [level, width === 0 ? index : index + 1]);
    await tx.query('UPDATE log_tile SET hashes = substring(hashes FROM 1 FOR $3) WHERE level = $1 AND index = $2', [
      level,
      index,
      width * HASH_BYTES,
    ]);
  }
}

async function lastTile(tx: EntityManager, level: number, index: number, width: number): Promise<Buffer> {
  const tile = (await readTiles(tx, [{ level, index }])).get(nameOf({ level, index }));
  if (tile?.length !== width * HASH_BYTES)
    throw new Error(`tile ${level}/${index} of the log does not have ${width} hashes`);
  return tile;
}
