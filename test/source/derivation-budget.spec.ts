import { expect, it } from 'vitest';
import { DerivationBudget } from '../../src/formats/pkcs/password-encryption.js';
import { openPkcs12 } from '../../src/inventory/intake/key-files/key-store-reading.js';
import { costlyStore } from '../inventory/costly-store.js';

const codeOf = (bytes: Buffer, password: string): unknown => {
  try {
    return openPkcs12(bytes, password, new DerivationBudget());
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
};

it.each([
  ['PBES2', 4_000_000],
  ['3DES', 2_000_000],
  ['PBES2', 2 ** 38],
] as const)('a store with too many rounds (%s, %i) is rejected before key derivation', (scheme, rounds) => {
  const began = process.cpuUsage();
  expect(codeOf(costlyStore(1, scheme, rounds), 'x')).toBe('document.too-costly');
  expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
});

it('all parts of a store share one budget', () => {
  const budget = new DerivationBudget();
  expect([budget.take(2_000_000), budget.take(2_000_000), budget.take(1_000_000)]).toEqual([true, false, true]);
});

it('a wrong password is distinguished from an excessive derivation cost', () => {
  expect(codeOf(costlyStore(1, 'PBES2', 1000), 'x')).toBe('key-store.password');
  expect(codeOf(costlyStore(1, '3DES', 1000), 'x')).toBe('key-store.password');
});
