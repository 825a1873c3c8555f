import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HsmSeal } from '../../src/hsm/hsm-seal.js';
import type { KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import { answered, createToken, newKey, openVault } from '../support/hsm.js';

const token = createToken();
let vault: KeyProcessVault;
let other: KeyProcessVault;
let seal: HsmSeal;

beforeAll(async () => {
  vault = await openVault(token);
  other = await openVault(token);
  seal = new HsmSeal(vault);
});

afterAll(async () => {
  await Promise.all([vault.onApplicationShutdown(), other.onApplicationShutdown()]);
  token.remove();
});

const SECRET = Buffer.from('ssh-password of a host that nobody may read');

describe('HsmSeal', () => {
  it('opens sealed data, in this and in another process with the same token', async () => {
    const sealed = await seal.close('test', 'row-1', SECRET);
    expect(await seal.open('test', 'row-1', sealed)).toEqual(SECRET);
    expect(await new HsmSeal(other).open('test', 'row-1', sealed)).toEqual(SECRET);
  });

  it.each([1, 15, 16, 17, 4032, 65_536])('seals %i bytes', async (length) => {
    const plain = randomBytes(length);
    expect(await seal.open('test', 'row', await seal.close('test', 'row', plain))).toEqual(plain);
  });

  it.each([0, 65_537])('rejects %i bytes', async (length) => {
    const closing = seal.close('test', 'row', Buffer.alloc(length));
    await expect(closing).rejects.toMatchObject({ kind: 'conflict', code: 'hsm.refused' });
  });

  it('seals the same secret differently each time, without revealing it', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => seal.close('test', 'row', SECRET)));
    expect(new Set(all.map((sealed) => sealed.toString('hex'))).size).toBe(50);
    expect(all.some((sealed) => sealed.includes(SECRET.subarray(0, 4)))).toBe(false);
  });

  it.each([
    ['test', 'row-2'],
    ['other', 'row-1'],
    ['testrow', '-1'],
  ])('does not open data for the purpose %s and the location %s', async (purpose, place) => {
    const sealed = await seal.close('test', 'row-1', SECRET);
    await expect(seal.open(purpose, place, sealed)).rejects.toMatchObject({ code: 'hsm.not-authentic' });
  });

  it('rejects any changed byte of method, nonce, ciphertext and tag, and keeps working', async () => {
    const sealed = await seal.close('test', 'row', SECRET);
    for (let at = 0; at < sealed.length; at += 1) {
      if (at >= 1 && at < 17) continue; // key ID, tested below
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await expect(seal.open('test', 'row', changed)).rejects.toMatchObject({ code: 'hsm.not-authentic' });
    }
    await expect(seal.open('test', 'row', sealed.subarray(0, -1))).rejects.toMatchObject({ code: 'hsm.not-authentic' });
    await expect(seal.open('test', 'row', SECRET)).rejects.toMatchObject({ code: 'hsm.not-authentic' });
    expect(await seal.open('test', 'row', sealed)).toEqual(SECRET);
    expect(vault.health()).toMatchObject({ up: true, respawns: 0 });
  });

  it('reports a missing key when the token has none with this name', async () => {
    const sealed = await seal.close('test', 'row', SECRET);
    sealed[1] = (sealed[1] ?? 0) ^ 1;
    await expect(new HsmSeal(other).open('test', 'row', sealed)).rejects.toMatchObject({ code: 'hsm.key-missing' });
  });

  it('opens data sealed before the key process was killed, while signing continues', async () => {
    const sealed = await seal.close('test', 'row', SECRET);
    const key = await newKey(vault, 'ec-p256');
    process.kill(vault.health().pid ?? 0, 'SIGKILL');
    const opened = await answered(() => seal.open('test', 'row', sealed));
    expect(opened).toEqual(SECRET);
    const order = { key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) } as const;
    const mixed = await Promise.all([vault.sign(order), seal.close('test', 'x', SECRET), vault.sign(order)]);
    expect(mixed.map(({ length }) => length > 60)).toEqual([true, true, true]);
  });
});

// This test runs last, because it replaces both key processes. Only a process that has not created any key can report a key as missing.
it('a key destroyed by one process is missing for every other, even one that has just signed with it', async () => {
  const key = await newKey(vault, 'ec-p256');
  const { ckaId, identity } = key;
  const pair = { ckaId, identity };
  const order = { key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) } as const;
  for (const one of [vault, other]) expect((await answered(() => one.sign(order))).length).toBeGreaterThan(60);
  expect(await other.destroy(pair)).toBe(1);
  for (const one of [vault, other]) await expect(one.sign(order)).rejects.toMatchObject({ code: 'hsm.key-missing' });
  expect(await answered(() => other.destroy(pair))).toBe(0);
});
