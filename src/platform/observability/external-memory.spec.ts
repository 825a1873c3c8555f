import { memoryUsage } from 'node:process';
import { expect, it } from 'vitest';
import { collectAfter } from './external-memory.js';

const PIECE_BYTES = 64 * 1024;
const MEGABYTE = 1024 * 1024;

/** Returns the maximum external memory in bytes while pieces are allocated and dropped. */
function mostWhile(pass: (piece: Uint8Array) => void): number {
  const before = memoryUsage().arrayBuffers;
  let most = 0;
  for (let sent = 0; sent < 256 * MEGABYTE; sent += PIECE_BYTES) {
    pass(Buffer.alloc(PIECE_BYTES, 1));
    most = Math.max(most, memoryUsage().arrayBuffers - before);
  }
  return most;
}

it('external memory stays small, unlike with V8 alone', () => {
  expect(mostWhile(collectAfter)).toBeLessThan(32 * MEGABYTE);
  expect(mostWhile(() => undefined)).toBeGreaterThan(48 * MEGABYTE);
});
