import { expect, it } from 'vitest';
import { CpuShare } from './cpu-share.js';

it('other callbacks run between any two pieces of work', async () => {
  const share = new CpuShare();
  const events: string[] = [];
  const callback = () => {
    events.push('callback');
  };
  const pieces = Array.from({ length: 5 }, (_, i) =>
    share.run('ann', () => {
      events.push('piece');
      setImmediate(callback);
      return i;
    }),
  );
  expect(await Promise.all(pieces)).toEqual([0, 1, 2, 3, 4]);
  expect(events.join(' ')).not.toContain('piece piece');
});

it('an error ends its own piece alone', async () => {
  const share = new CpuShare();
  const failed = share.run('ann', () => {
    throw new Error('not a signature');
  });
  const next = share.run('ann', () => 'done');
  await expect(failed).rejects.toThrow('not a signature');
  expect(await next).toBe('done');
});

it('callers take turns', async () => {
  const share = new CpuShare();
  const order: string[] = [];
  const piece = (caller: string) => share.run(caller, () => order.push(caller));
  await Promise.all([piece('ann'), piece('ann'), piece('ann'), piece('ben'), piece('ben')]);
  expect(order).toEqual(['ann', 'ann', 'ben', 'ann', 'ben']);
});
