import { expect, it } from 'vitest';
import { firstIdAt } from '../platform/database/new-id.js';
import { EntryOrder } from './entry-order.js';

const HOUR = 3600_000;
const NOW = Date.parse('2026-11-29T00:00:00Z');
const entry = (ms: number): [string, string] => [firstIdAt(NOW + ms), new Date(NOW + ms).toISOString()];

it('entries in the order written by several processes have no fault', () => {
  const order = new EntryOrder();
  for (const ms of [0, 5, 3, HOUR, HOUR - 60_000, 90 * HOUR, 90 * HOUR + 1])
    expect(order.faultOf(...entry(ms))).toBeUndefined();
});

it('an entry that is logged twice, or long after it was created, is a fault', () => {
  const order = new EntryOrder();
  order.faultOf(...entry(0));
  order.faultOf(...entry(HOUR));
  expect(order.faultOf(...entry(0))).toContain('appears twice in the log');
  for (const ms of [40 * 60_000, 30 * 60_000, 20 * 60_000])
    expect(order.faultOf(...entry(ms))).toContain('long before the entries that precede it');
});

it('an entry whose time does not match its ID is a fault', () => {
  const [id] = entry(0);
  expect(new EntryOrder().faultOf(id, '2020-02-02T00:00:00.000000Z')).toContain('is dated 2020-02-02');
});
