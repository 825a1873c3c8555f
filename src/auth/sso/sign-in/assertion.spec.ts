import { describe, expect, it } from 'vitest';
import type { IdentityProvider } from '../../model/identity-provider.entity.js';
import { groupsOf } from '../providers/claim-rules.js';
import { type Assertion, boundedAssertion } from './assertion.js';

const assertion = (change: Partial<Assertion>): Assertion => ({
  transactionId: 't',
  provider: {} as IdentityProvider,
  subject: 'u1',
  claims: {},
  methods: ['pwd'],
  contexts: ['urn:example:mfa'],
  externalSession: 's1',
  logoutHint: null,
  authenticatedAt: new Date(0),
  ...change,
});

describe('a provider assertion', () => {
  it.each<[string, Partial<Assertion>]>([
    ['a subject with a NUL', { subject: 'u\0' }],
    ['a subject with a line break', { subject: 'u\n1' }],
    ['a subject with half of a surrogate pair', { subject: 'u\ud800' }],
    ['a session with a NUL', { externalSession: 's\0' }],
    ['a context with half of a surrogate pair', { contexts: ['urn:example:mfa', 'x\udc00'] }],
    ['a context of 501 characters', { contexts: ['c'.repeat(501)] }],
    ['claims of 40 levels', { claims: { x: JSON.parse('['.repeat(40) + ']'.repeat(40)) as unknown } }],
    [
      'contexts of 2,001 characters',
      { contexts: ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(500)).concat('e') },
    ],
    ['21 contexts', { contexts: Array.from({ length: 21 }, (_, i) => `c${i}`) }],
  ])('is rejected with %s', (_, change) => {
    expect(() => boundedAssertion(assertion(change))).toThrow(expect.objectContaining({ code: 'sso.refused' }));
  });

  it('keeps only authentication methods that can be stored', () => {
    const methods = ['pwd', 'o\0tp', 'p\ud800', 'x'.repeat(101), 'hwk'];
    expect(boundedAssertion(assertion({ methods })).methods).toEqual(['pwd', 'hwk']);
  });

  it('has no authentication time when the provider sends an impossible one', () => {
    // PostgreSQL returns a different value for a year before 1, so the row would not match its seal.
    for (const time of [
      '0000-01-01T00:00:00Z',
      '-004800-01-01T00:00:00Z',
      '-200000-01-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      '2999-01-01T00:00:00Z',
      '9999-01-01T00:00:00Z',
    ])
      expect(boundedAssertion(assertion({ authenticatedAt: new Date(time) })).authenticatedAt).toBeNull();
    expect(boundedAssertion(assertion({ authenticatedAt: new Date(1e300) })).authenticatedAt).toBeNull();
    expect(boundedAssertion(assertion({})).authenticatedAt).toEqual(new Date(0));
  });

  it('has no logout hint that would not fit in a URL', () => {
    const hintOf = (length: number) => boundedAssertion(assertion({ logoutHint: 'h'.repeat(length) })).logoutHint;
    expect([hintOf(8192)?.length, hintOf(8193)]).toEqual([8192, null]);
  });

  it('limits an endless provider session to ten years', () => {
    const inTenYears = Date.now() + 10.1 * 366 * 24 * 3600_000;
    for (const time of ['9999-12-31T23:59:59Z', '+012000-01-01T00:00:00Z', '+275760-09-13T00:00:00Z'])
      expect(boundedAssertion(assertion({ sessionEnd: new Date(time) })).sessionEnd?.getTime()).toBeLessThan(
        inTenYears,
      );
    const soon = new Date(Date.now() + 60_000);
    expect(boundedAssertion(assertion({ sessionEnd: soon })).sessionEnd).toEqual(soon);
    expect(boundedAssertion(assertion({})).sessionEnd).toBeUndefined();
  });

  it('returns only groups that can be stored unchanged', () => {
    expect(groupsOf({ groups: ['release', 'a\0', 'b\ud800', 'c\n', '\u{1f600}'] })).toEqual(['release', '\u{1f600}']);
  });
});
