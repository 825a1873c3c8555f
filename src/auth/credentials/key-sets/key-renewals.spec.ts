import { expect, it } from 'vitest';
import { KeyRenewals } from './key-renewals.js';

const MINUTE_MS = 60_000;
const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS);

it('renews old keys even if the row contains a recent call to the publisher', async () => {
  const renewals = new KeyRenewals('the issuer');
  const row = { id: 'a', name: 'corp', keys: [{ kty: 'EC', kid: 'old' }], keysReadAt: ago(20), keysAskedAt: ago(-60) };
  const keys = [{ kty: 'EC', kid: 'new' }];
  expect(await renewals.of(row, false, () => Promise.resolve(keys))).toEqual(keys);
});

it('does not call a publisher again within the pause, whatever the row contains', async () => {
  const renewals = new KeyRenewals('the issuer');
  let calls = 0;
  const renew = () => {
    calls += 1;
    return Promise.reject(new Error('unreachable'));
  };
  for (let i = 0; i < 3; i++) {
    const row = { id: 'a', name: 'corp', keys: null, keysReadAt: null, keysAskedAt: ago(60) };
    expect(await renewals.of(row, true, renew)).toBeUndefined();
  }
  expect(calls).toBe(1);
});
