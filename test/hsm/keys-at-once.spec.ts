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

/** A key that is not there: a process that made another one cannot know, so it is replaced by one that can. */
const missing = (known: VaultKey) => signed({ ...known, ckaId: randomBytes(16) });

it('a process that cannot see a key is replaced, and no order that it held is lost', async () => {
  const known = await newKey(vault, 'ec-p256');
  const { respawns } = vault.health();
  const many = () => Array.from({ length: 100 }, () => signed(known));
  const [refused] = await Promise.allSettled([missing(known)]);
  expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'hsm.key-missing' } });
  expect(vault.health().respawns).toBe(respawns + 1);

  await generate();
  const held = [...many(), generate(), generate(), ...many()];
  const [again] = await Promise.allSettled([missing(known), ...held]);
  expect(again).toMatchObject({ status: 'rejected', reason: { code: 'hsm.key-missing' } });
  await Promise.all(held);
  expect(vault.health().respawns).toBe(respawns + 2);
});

it('keys that wait are left to the next process when one cannot be seen', async () => {
  const known = await newKey(vault, 'ec-p256');
  const slow = Array.from({ length: 4 }, () => newKey(vault, 'rsa-4096'));
  await signed(known);
  const [refused, ...others] = await Promise.allSettled([missing(known), signed(known), ...slow]);
  expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'hsm.key-missing' } });
  expect(others.map(({ status }) => status)).toEqual(others.map(() => 'fulfilled'));
});

it('keys that are made and destroyed at once do not disturb each other', async () => {
  const { respawns } = vault.health();
  const both = async () => {
    const key = { ckaId: randomBytes(16), identity: newIdentity('brief') };
    await generate(key.ckaId, key.identity);
    expect(await vault.destroy(key)).toBe(1);
  };
  for (let round = 0; round < 40; round += 1) await Promise.all([both(), both(), both(), both()]);
  expect(vault.health().respawns).toBe(respawns);
});
