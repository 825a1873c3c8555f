import { describe, expect, it } from 'vitest';
import { readKeyUses } from './host-reading.js';

const FINGERPRINT = `SHA256:${'a'.repeat(43)}`;
const LOGIN = `host sshd[7]: Accepted publickey for root from 192.0.2.7 port 40000 ssh2: ED25519 ${FINGERPRINT}`;
const times = (line: string, clock: string, ahead = 0) =>
  readKeyUses(line, { clock: new Date(clock), ahead }).map(({ at }) => at);

describe('the time of a login in the log of a host', () => {
  it.each([
    ['with its zone', `2026-03-01T10:00:00.5+0100 ${LOGIN}`, 0, '2026-03-01T09:00:00.000Z'],
    ['without a zone, of a host two hours ahead of UTC', `Mar  1 10:00:00 ${LOGIN}`, 120, '2026-03-01T08:00:00.000Z'],
    [
      'without a year, which is the last when it were still to come',
      `Dec 31 23:59:59 ${LOGIN}`,
      0,
      '2025-12-31T23:59:59.000Z',
    ],
  ])('is read %s', (_, line, ahead, at) => {
    expect(times(line, '2026-03-01T12:00:00Z', ahead)).toEqual([at]);
  });

  it.each([`Mai  1 10:00:00 ${LOGIN}`, `Xyz  1 10:00:00 ${LOGIN}`, LOGIN])(
    'that cannot be read leaves the line out: %s',
    (line) => {
      expect(times(line, '2026-06-01T12:00:00Z')).toEqual([]);
    },
  );
});
