import { describe, expect, it } from 'vitest';
import type { CheckedDocument } from '../../model/document.js';
import { arrivalsOf, FUTURE, MAX_CLOCK_SKEW_MINUTES } from './arrivals.js';
import type { IngestOrder } from './ingest-order.js';

const NOW = new Date('2026-11-27T12:00:00.000Z');
const ORDER: IngestOrder = {
  bytes: new ArrayBuffer(0),
  kind: 'json',
  mode: 'strict',
  source: 'pipeline',
  password: undefined,
  caller: { kind: 'api-key', id: 'k', name: 'pipeline', ownerId: 'ann' },
  requestId: 'r',
  address: '192.0.2.1',
  idempotencyKey: undefined,
};
const later = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000).toISOString();
/** Returns the time used for a document whose timestamp is `time`, and the codes of the notes about the document. */
function counted(time: string | null) {
  const [arrival] = arrivalsOf(ORDER, [{ time } as CheckedDocument], Buffer.alloc(32), NOW);
  return [arrival?.document.time, arrival?.notes.map(({ code }) => code)];
}

describe('the time of a document', () => {
  it.each(['2999-01-01T00:00:00Z', later(MAX_CLOCK_SKEW_MINUTES + 1)])(
    '%s is in the future and replaced by the time of receipt',
    (time) => {
      expect(counted(time)).toEqual([NOW.toISOString(), [FUTURE.code]]);
    },
  );

  it.each(['2020-01-01T00:00:00Z', later(0), later(MAX_CLOCK_SKEW_MINUTES - 1), null])(
    '%s is used as stated',
    (time) => {
      expect(counted(time)).toEqual([time, []]);
    },
  );
});
