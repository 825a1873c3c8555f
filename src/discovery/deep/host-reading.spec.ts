import { describe, expect, it } from 'vitest';
import { readKeyUses } from './host-reading.js';

const FINGERPRINT = `SHA256:${'a'.repeat(43)}`;
const LOGIN = `host sshd[7]: Accepted publickey for root from 192.0.2.7 port 40000 ssh2: ED25519 ${FINGERPRINT}`;
const times = (line: string, clock: string, ahead = 0) =>
  readKeyUses(line, { clock: new Date(clock), ahead }).map(({ at }) => at);

describe('a login in a host log', () => {
  const said = `Accepted publickey for root from 192.0.2.7 port 1 ssh2: ED25519 ${FINGERPRINT}`;
  const at = '2026-03-01T10:00:00Z host';
  it.each([
    `${at} sshd[7]: ${said}`,
    `${at} sshd-session[7]: ${said}`,
    `${at} sshd[7]: ${said} ID ann (serial 7) CA ED25519 ${FINGERPRINT}`,
    `Mar  1 10:00:00 host sshd[7]: ${said}`,
  ])('is read from a complete sshd message: %s', (line) => {
    expect(readKeyUses(line, { clock: new Date('2026-03-02T00:00:00Z'), ahead: 0 })).toHaveLength(1);
  });

  it.each([
    `${at} sshd[7]: error: kex_exchange_identification: client sent invalid protocol identifier "${said}"`,
    `${at} sshd[7]: Invalid user ${said}`,
    `${at} sshd[7]: ${said} and more`,
    `${at} other[7]: ${said}`,
    `${at} other[7]: sshd[7]: ${said}`,
    said,
  ])('is not read from client-controlled text, nor from a line of another program: %s', (line) => {
    expect(readKeyUses(line, { clock: new Date('2026-03-02T00:00:00Z'), ahead: 0 })).toEqual([]);
  });
});

describe('the time of a login in a host log', () => {
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
    'excludes the line if it cannot be parsed: %s',
    (line) => {
      expect(times(line, '2026-06-01T12:00:00Z')).toEqual([]);
    },
  );
});
