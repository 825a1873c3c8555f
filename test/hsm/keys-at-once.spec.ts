import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { VaultKey } from '../../src/hsm/key-vault.js';
import type { KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import { createToken, newIdentity, newKey, openVault } from '../support/hsm.js';

const token = createToken();
let vault: KeyProcessVault;
/** Of another process of the service, on the same token. */
let other: KeyProcessVault;

beforeAll(async () => {
  vault = await openVault(token);
  other = await openVault(token);
});
afterAll(async () => {
  await Promise.all([vault.onApplicationShutdown(), other.onApplicationShutdown()]);
  token.remove();
});

const signed = (key: VaultKey) =>
  vault.sign({ key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) });
const generate = (ckaId = randomBytes(16), identity = newIdentity('brief')) =>
  vault.generate({ ckaId, identity, type: 'ec-p256' });

it('a process that cannot see the key of another one is replaced, and no order that it held is lost', async () => {
  const known = await newKey(vault, 'ec-p256');
  const { respawns } = vault.health();
  const many = () => Array.from({ length: 100 }, () => signed(known));
  // What SoftHSM creates while another process does the same keeps it from looking for what that one created. Mostly the first try makes it so.
  for (let attempt = 0; attempt < 10 && vault.health().respawns === respawns; attempt += 1) {
    const slow = newKey(vault, 'rsa-4096');
    const theirs = await newKey(other, 'ec-p256');
    await slow;
    await Promise.all([...many(), signed(theirs), generate(), ...many()]);
  }
  expect(vault.health().respawns).toBe(respawns + 1);
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
