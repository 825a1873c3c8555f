import { assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DigestAlgorithm, KeyType } from '../../hsm/key-vault.js';
import {
  assertPermitted,
  fitsPattern,
  isTimeZone,
  type KeyUse,
  type SigningHours,
  withinHours,
} from './key-constraints.js';

describe('fitsPattern', () => {
  it.each([
    ['app-1.2.0.tar.gz', 'app-*.tar.gz', true],
    ['app-.tar.gz', 'app-*.tar.gz', true],
    ['app-1.zip', 'app-*.tar.gz', false],
    ['dist/app.exe', '*.exe', true],
    ['app.exe.txt', '*.exe', false],
    ['a1', 'a?', true],
    ['a', 'a?', false],
    ['axb', 'a.b', false],
    ['', '*', true],
    ['', '', true],
    ['x', '', false],
    ['aXbXc', 'a*b*c', true],
    ['abab', '*ab', true],
  ])('%j and %j: %s', (name, pattern, fits) => {
    expect(fitsPattern(name, pattern)).toBe(fits);
  });

  it('agrees with a regular expression', () => {
    const letters = string({ unit: constantFrom('a', 'b', '*', '?', '.'), maxLength: 12 });
    assert(
      property(letters, letters, (name, pattern) => {
        const escaped = pattern
          .replaceAll('.', String.raw`\.`)
          .replaceAll('*', '.*')
          .replaceAll('?', '.');
        expect(fitsPattern(name, pattern)).toBe(new RegExp(`^${escaped}$`).test(name));
      }),
      { numRuns: 2000 },
    );
  });

  it('matches a hostile pattern in bounded time', () => {
    const started = performance.now();
    expect(fitsPattern('a'.repeat(1000), '*a'.repeat(99) + 'b')).toBe(false);
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe('the constraint on algorithms', () => {
  const permits = (type: KeyType, use: Pick<KeyUse, 'algorithm' | 'format'>, algorithms?: DigestAlgorithm[]) => {
    const caller = { metadata: {}, timestamp: false, requestedBy: 'ci', ownerId: 'ann', identity: null };
    const key = { name: 'release', type, constraints: algorithms === undefined ? {} : { algorithms } };
    assertPermitted(key, { ...caller, scheme: 'ecdsa-der', ...use }, new Date());
    return true;
  };
  const ALL: DigestAlgorithm[] = ['sha256', 'sha384', 'sha512'];

  it.each([
    ['ec-p256', 'sha384', 'raw'],
    ['ec-p256', 'sha512', 'sigstore-bundle'],
    ['ec-p384', 'sha512', 'dsse'],
    ['ec-p384', 'sha3-512', 'openpgp'],
  ] as const)('%s: does not let a %s digest be truncated in the format %s', (type, algorithm, format) => {
    expect(() => permits(type, { algorithm, format }, [...ALL, 'sha3-512'])).toThrow(/only the first octets/);
    expect(permits(type, { algorithm, format })).toBe(true);
  });

  it.each([
    ['ec-p256', 'sha256', 'raw'],
    ['ec-p256', 'sha512', 'cms'],
    ['ec-p521', 'sha512', 'raw'],
    ['rsa-2048', 'sha512', 'raw'],
  ] as const)('%s: allows %s in the format %s', (type, algorithm, format) => {
    expect(permits(type, { algorithm, format }, ALL)).toBe(true);
  });
});

const OFFICE: SigningHours = {
  days: ['mon', 'tue', 'wed', 'thu', 'fri'],
  from: '08:00',
  until: '18:00',
  timeZone: 'Europe/Berlin',
};

describe('withinHours', () => {
  it.each([
    ['2027-07-14T05:59:59Z', false], // Wednesday 07:59 in summer time
    ['2027-07-14T06:00:00Z', true],
    ['2027-07-14T15:59:59Z', true],
    ['2027-07-14T16:00:00Z', false],
    ['2027-01-13T06:59:59Z', false], // In winter, one hour later.
    ['2027-01-13T07:00:00Z', true],
    ['2027-07-17T10:00:00Z', false], // Saturday
  ])('%s: %s', (time, within) => {
    expect(withinHours(OFFICE, new Date(time))).toBe(within);
  });

  it('uses the day of the time zone, and 24:00 as its end', () => {
    const sunday: SigningHours = { days: ['sun'], from: '00:00', until: '24:00', timeZone: 'Pacific/Auckland' };
    expect(withinHours(sunday, new Date('2027-07-17T12:00:00Z'))).toBe(true); // Sunday 00:00 in this time zone.
    expect(withinHours(sunday, new Date('2027-07-17T11:59:00Z'))).toBe(false);
    expect(withinHours(sunday, new Date('2027-07-18T11:59:00Z'))).toBe(true);
  });
});

it.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Mars/Olympus', false],
])('isTimeZone returns for %s: %s', (name, is) => {
  expect(isTimeZone(name)).toBe(is);
});
