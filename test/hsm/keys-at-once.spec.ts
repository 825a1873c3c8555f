import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { VaultKey } from '../../src/hsm/key-vault.js';
import type { KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import { createToken, newIdentity, newKey, openVault } from '../support/hsm.js';

const token = createToken();
let vault: KeyProcessVault;

beforeAll(async () => {
  vault = await openVault(token);
});
afterAll(async () => {
  await vault.onApplicationShutdown();
  token.remove();
});

const signed = (key: VaultKey) =>
  vault.sign({ key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) });
const generate = (ckaId = randomBytes(16), identity = newIdentity('brief')) =>
  vault.generate({ ckaId, identity, type: 'ec-p256' });

/**
 * Signs with a key that does not exist. A key process that has created keys might not see all keys, so the process is replaced before the key is reported as
 * missing.
 */
const missing = (known: VaultKey) => signed({ ...known, ckaId: randomBytes(16) });

interface Outcome {
  readonly missing: unknown;
  readonly others: readonly string[];
  readonly respawns: number;
}

/** Requests a signature with a missing key together with other requests and returns the outcome of all requests. */
async function besideMissing(known: VaultKey, orders: () => Promise<unknown>[]): Promise<Outcome> {
  const { respawns } = vault.health();
  const [refused, ...others] = await Promise.allSettled([missing(known), ...orders()]);
  return {
    missing: refused?.status === 'rejected' && (refused.reason as { code?: unknown }).code,
    others: [...new Set(others.map(({ status }) => status))],
    respawns: vault.health().respawns - respawns,
  };
}

/** Makes up to three attempts and returns the first one in which all other requests succeed, because a new key process may take a second to start. */
async function bestOfThree(attempt: () => Promise<Outcome>): Promise<Outcome> {
  for (let left = 2; left > 0; left -= 1) {
    const outcome = await attempt();
    if (outcome.others.every((status) => status === 'fulfilled')) return outcome;
  }
  return attempt();
}

it('a process that cannot see a key is replaced, and none of its requests is lost', async () => {
  const known = await newKey(vault, 'ec-p256');
  const many = () => Array.from({ length: 100 }, () => signed(known));
  const outcome = await bestOfThree(async () => {
    await generate();
    return besideMissing(known, () => [...many(), generate(), generate(), ...many()]);
  });
  expect(outcome).toEqual({ missing: 'hsm.key-missing', others: ['fulfilled'], respawns: 1 });
});

it('one caller with many orders delays another caller by no more orders than the process holds', async () => {
  const key = await newKey(vault, 'ec-p256');
  const order = (caller: string) =>
    vault.sign({ key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32), caller });
  let done = 0;
  const many = Array.from({ length: 1000 }, () => order('a').then(() => (done += 1)));
  await order('b');
  expect(done).toBeLessThan(200);
  await Promise.all(many);
});

it('waiting keys are left to the next process when one cannot be seen', async () => {
  const known = await newKey(vault, 'ec-p256');
  const outcome = await bestOfThree(async () => {
    const slow = Array.from({ length: 4 }, () => newKey(vault, 'rsa-4096'));
    await signed(known);
    return besideMissing(known, () => [signed(known), ...slow]);
  });
  expect(outcome).toMatchObject({ missing: 'hsm.key-missing', others: ['fulfilled'] });
});

it('keys created and destroyed concurrently do not affect each other', async () => {
  const { respawns } = vault.health();
  const both = async () => {
    const key = { ckaId: randomBytes(16), identity: newIdentity('brief') };
    await generate(key.ckaId, key.identity);
    expect(await vault.destroy(key)).toBe(1);
  };
  for (let round = 0; round < 40; round += 1) await Promise.all([both(), both(), both(), both()]);
  expect(vault.health().respawns).toBe(respawns);
});
