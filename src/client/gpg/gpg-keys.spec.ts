import { describe, expect, it } from 'vitest';
import { type GpgKey, gpgKeysNamed } from './gpg-keys.js';

const FINGERPRINT = 'CD8EEC94719B2DAF1B8589427DDDF7FBED2F22BD';

function keyNamed(name: string, fingerprint: string, userId: string): GpgKey {
  const [createdAt, expiresAt] = [new Date(0), undefined];
  const dates = { createdAt, expiresAt, revoked: false };
  return {
    id: `id-${name}`,
    name,
    type: 'rsa-3072',
    version: 1,
    fingerprint,
    userIds: [userId],
    certificate: '',
    ...dates,
  };
}

const KEYS = [
  keyNamed('release', FINGERPRINT, 'Releases <rel@example.org>'),
  keyNamed('team', '1'.repeat(40), 'Ann Baker (Release Team) <ann@example.org>'),
  keyNamed('nightly', `AB${FINGERPRINT.slice(2, 20)}${'0'.repeat(20)}`, 'Nightly builds <nightly@example.org>'),
];
const named = (name: string) => gpgKeysNamed(KEYS, name).map((key) => key.name);

/** The tests use the forms in gpg's manual. gpg 2.2 accepts and rejects the same forms. */
describe('keys that match a name', () => {
  it.each([
    ['its name in the service', 'release'],
    ['a fingerprint', FINGERPRINT],
    ['one in small letters', FINGERPRINT.toLowerCase()],
    ['one of this very key', `0x${FINGERPRINT}!`],
    ['one in groups of four', 'CD8E EC94 719B 2DAF 1B85  8942 7DDD F7FB ED2F 22BD'],
    ['one in groups of two', FINGERPRINT.replaceAll(/../g, '$& ')],
    ['a key id', FINGERPRINT.slice(-16)],
    ['a short key id', FINGERPRINT.slice(-8)],
    ['an address', '<REL@example.org>'],
    ['a whole user ID', '=Releases <rel@example.org>'],
    ['a part of one', 'eleases'],
    ['a part of one behind a star', '*rel@ex'],
  ])('%s', (_, name) => {
    expect(named(name)).toEqual(['release']);
  });

  it.each([
    '<ann@example.org>',
    'ann@example.org',
    'Ann Baker',
    'Ann Baker (Release Team) <ann@example.org>',
    '=Ann Baker (Release Team) <ann@example.org>',
    'Release Team',
  ])('include a user ID with a comment for "%s"', (name) => {
    expect(named(name)).toEqual(['team']);
  });

  it.each(['', ' ', '=', '=Releases', 'CD8E EC94', FINGERPRINT.slice(0, 39), 'nobody'])(
    'are empty for "%s"',
    (name) => {
      expect(named(name)).toEqual([]);
    },
  );
});
