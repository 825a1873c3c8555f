import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HsmSeal } from '../../src/hsm/hsm-seal.js';
import type { KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import { answered, createToken, newIdentity, newKey, objectsIn, openVault, pkcs11Tool } from '../support/hsm.js';
import { has } from '../support/peers.js';

const token = createToken();
let vault: KeyProcessVault;

beforeAll(async () => {
  vault = await openVault(token);
});
afterAll(async () => {
  await vault.onApplicationShutdown();
  token.remove();
});

const objects = (...filter: string[]): string[] => objectsIn(token, ...filter);

/** Returns a field's values in all objects of a type. */
const fields = (kind: string, name: string): string[] =>
  objects('--type', kind).flatMap((one) => new RegExp(`${name}: +(\\S+)`).exec(one)?.[1] ?? []);

describe.skipIf(!has('pkcs11-tool'))('pkcs11-tool -O', () => {
  it.each(['rsa-2048', 'ec-p256'] as const)('%s: matches the stored evidence', async (type) => {
    const ckaId = randomBytes(16);
    const identity = newIdentity(`evidence-of-${type}`);
    const { evidence } = await vault.generate({ ckaId, identity, type });
    const privateKey = objects('--type', 'privkey').find((one) => one.includes(ckaId.toString('hex')));
    const access = /Access: +(.*)$/m.exec(privateKey ?? '')?.[1]?.split(', ');
    expect(access?.toSorted()).toEqual(['always sensitive', 'local', 'never extractable', 'sensitive']);
    expect(evidence).toMatchObject({ alwaysSensitive: true, local: true, neverExtractable: true, sensitive: true });
    expect(/Usage: +(.*)$/m.exec(privateKey ?? '')?.[1]).toBe('sign');
    expect(privateKey).toContain(`label:      sealwright signing ${identity.owner}`);
  });

  it('shows the stored public key exactly', async () => {
    const { ckaId, publicKey } = await newKey(vault, 'ec-p256');
    const shown = objects('--type', 'pubkey').find((one) => one.includes(ckaId.toString('hex')));
    const point = Buffer.from(/EC_POINT: +(\w+)/.exec(shown ?? '')?.[1] ?? '', 'hex').subarray(2);
    expect(point).toHaveLength(65);
    expect(publicKey.subarray(-65)).toEqual(point);
    point.writeUInt8(point.readUInt8(40) ^ 1, 40);
    expect(publicKey.subarray(-65)).not.toEqual(point);
  });

  it('shows no destroyed pair, and all others', async () => {
    const [gone, stays] = [randomBytes(16), randomBytes(16)];
    const identity = newIdentity('a-pair');
    for (const ckaId of [gone, stays]) await vault.generate({ ckaId, identity, type: 'ec-p256' });
    const another = newIdentity('another');
    await expect(vault.destroy({ ckaId: gone, identity: another })).rejects.toMatchObject({ code: 'hsm.other-key' });
    expect(await vault.destroy({ ckaId: gone, identity })).toBe(1);
    for (const kind of ['privkey', 'pubkey']) {
      expect(fields(kind, 'ID')).not.toContain(gone.toString('hex'));
      expect(fields(kind, 'ID')).toContain(stays.toString('hex'));
    }
  });

  it('creates a duplicate CKA_ID: with another label, signing continues; with the same label, neither key signs', async () => {
    const key = await newKey(vault, 'ec-p256');
    const order = { key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) } as const;
    const id = key.ckaId.toString('hex');
    const make = (label: string) =>
      pkcs11Tool(token, '--keypairgen', '--key-type', 'EC:prime256v1', '--id', id, '--label', label);
    make('of somebody else');
    // Uses a new key process, which has not cached the key handle.
    const fresh = await openVault(token);
    expect((await fresh.sign(order)).length).toBeGreaterThan(60);
    make(`sealwright signing ${key.identity.owner}`);
    const last = await openVault(token);
    await expect(last.sign(order)).rejects.toMatchObject({ code: 'hsm.refused' });
    await Promise.all([fresh.onApplicationShutdown(), last.onApplicationShutdown()]);
  });

  it('shows the sealing key in the token too', async () => {
    await new HsmSeal(vault).close('test', 'row', Buffer.from('secret'));
    const [secretKey, ...more] = objects('--type', 'secrkey');
    expect(more).toEqual([]);
    const access = /Access: +(.*)$/m.exec(secretKey ?? '')?.[1]?.split(', ');
    expect(access?.toSorted()).toEqual(['always sensitive', 'local', 'never extractable', 'sensitive']);
    expect(/Usage: +(.*)$/m.exec(secretKey ?? '')?.[1]).toBe('encrypt, decrypt');
    expect(secretKey).toMatch(/AES length 32/);
    const ckaId = Buffer.from(/ID: +(\w+)/.exec(secretKey ?? '')?.[1] ?? '', 'hex');
    // `destroy` searches only key pairs. A key process that has created keys might not see all objects, so the process is replaced. The new key process finds
    // no key pair with this ID.
    expect(await answered(() => vault.destroy({ ckaId, identity: newIdentity() }))).toBe(0);
    expect(objects('--type', 'secrkey')).toHaveLength(1);
    const canary = { ckaId: Buffer.from('sealwright-canary'), identity: newIdentity('canary') };
    await expect(vault.destroy(canary)).rejects.toMatchObject({ code: 'hsm.other-key' });
  });
});
