import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { commonPasswords, assertGoodPassword, MIN_PASSWORD_LENGTH } from './password-rules.js';

const isRefused = (password: string) =>
  assertGoodPassword(password, 'ada.lovelace@example.org').then(
    () => false,
    ({ code }: { code?: string }) => code === 'password.weak',
  );

it('rejects every listed password of sufficient length, even with a year appended', async () => {
  const long = [...(await commonPasswords())].filter(({ length }) => length >= MIN_PASSWORD_LENGTH);
  expect(long.length).toBeGreaterThan(250);
  for (const password of long) expect([password, await isRefused(password)]).toEqual([password, true]);
  for (const password of ['liverpool', 'charlie', 'sunshine', 'Michelle'])
    expect([password, await isRefused(`${password}2026!!`)]).toEqual([password, true]);
});

it.each([
  'short',
  'aaaaaaaaaaaaaaaa',
  'qwertyuiopas',
  '123456789012',
  'password1234',
  'P@ssw0rd!P@ssw0rd!',
  'michaelmichael',
  'MonkeyDragon77',
  'sealwright2026!',
  'iloveyou12345678',
  'x7-ada.lovelace@example.org-q9',
  'Lovelace/77-kd93mq',
  'p'.repeat(129),
])('rejects %s', async (password) => {
  expect(await isRefused(password)).toBe(true);
});

it('accepts uncommon passwords and passphrases of several words', async () => {
  const random = Array.from({ length: 200 }, () => randomBytes(12).toString('base64url'));
  for (const password of [...random, 'zebra lamp cloud river', 'Tr0ub4dor&3xyzKp', 'ein Haus am See, 1987'])
    expect([password, await isRefused(password)]).toEqual([password, false]);
});
