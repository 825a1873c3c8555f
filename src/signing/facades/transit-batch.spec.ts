import { expect, it } from 'vitest';
import { eachOf } from './transit-batch.js';
import { WeakValues } from './weak-values.js';

const items = (count: number) => Array.from({ length: count }, (_, i) => WeakValues.of({ reference: String(i) }));
const work = () => Promise.resolve({ valid: true });

it('a batch with more items than the call allows is refused', async () => {
  await expect(eachOf(items(101), work, { max: 100 })).rejects.toThrow('batch_input has more than 100 items');
  expect(await eachOf(items(100), work, { max: 100 })).toHaveLength(100);
});

it('a batch ends when the connection of its caller is closed', async () => {
  let verified = 0;
  const counted = () => {
    verified += 1;
    return work();
  };
  await eachOf(items(100), counted, { atOnce: 1, isOpen: () => verified < 3 });
  expect(verified).toBe(3);
});
