import { Problem } from '../../errors/problem.js';
import { describe, expect, it } from 'vitest';
import { BODY_MEMORY_BYTES, LARGE_BODY_MEMORY_BYTES, MAX_REQUEST_BODY_BYTES } from './body-limits.js';
import { type BodyLease, BodyMemory } from './body-memory.js';

const MB = 1024 * 1024;

/** Reserves memory for bodies until a body is refused. */
function fill(memory: BodyMemory, caller: string, bytes: number): BodyLease[] {
  const leases: BodyLease[] = [];
  for (;;) {
    try {
      leases.push(memory.take(bytes, caller));
    } catch (error) {
      if (error instanceof Problem && error.code === 'request.busy') return leases;
      throw error;
    }
  }
}

describe('the memory for bodies', () => {
  it('leaves room for others, whatever one caller sends', () => {
    const memory = new BodyMemory();
    const first = fill(memory, 'a', MB);
    expect(first).toHaveLength((BODY_MEMORY_BYTES / MB) * 0.75);
    expect(fill(memory, 'b', MB).length).toBeGreaterThanOrEqual(8);
    expect(() => memory.take(MB, 'c')).not.toThrow();
  });

  it('is released when a body has been processed', () => {
    const memory = new BodyMemory();
    const count = fill(memory, 'a', 200).map((lease) => lease.release()).length;
    expect(count).toBeGreaterThan(300);
    expect(fill(memory, 'a', 200)).toHaveLength(count);
  });

  it('admits one body of any size, but no second one from the same caller that leaves no room', () => {
    const memory = new BodyMemory();
    const [large] = [memory.take(MAX_REQUEST_BODY_BYTES, 'a')];
    expect(() => memory.take(LARGE_BODY_MEMORY_BYTES / 2, 'a')).toThrow(/Retry after/);
    large?.release();
    expect(() => memory.take(MAX_REQUEST_BODY_BYTES, 'b')).not.toThrow();
  });
});
