import { execFileSync } from 'node:child_process';
import { createPublicKey, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN_KEY_TYPES, type TokenKeyType } from '../../src/hsm/key-vault.js';
import type { KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import { createToken, newIdentity, newKey, openVault } from '../support/hsm.js';

/** Properties of the public key that OpenSSL must report. */
const DETAILS: Record<TokenKeyType, object> = {
  'rsa-2048': { modulusLength: 2048, publicExponent: 65537n },
  'rsa-3072': { modulusLength: 3072, publicExponent: 65537n },
  'rsa-4096': { modulusLength: 4096, publicExponent: 65537n },
  'ec-p256': { namedCurve: 'prime256v1' },
  'ec-p384': { namedCurve: 'secp384r1' },
  'ec-p521': { namedCurve: 'secp521r1' },
};
const token = createToken();
let vault: KeyProcessVault;

const SECRET = 'a-setting-of-the-service-that-is-secret';

beforeAll(async () => {
  process.env['SVC_JWT_SECRET'] = SECRET;
  vault = await openVault(token);
});

afterAll(async () => {
  delete process.env['SVC_JWT_SECRET'];
  await vault.onApplicationShutdown();
  token.remove();
});

describe('generate', () => {
  it.each(TOKEN_KEY_TYPES)(
    '%s: creates a key of that type, and the token attests that it is never extractable',
    async (type) => {
      const { publicKey, evidence } = await vault.generate({
        ckaId: randomBytes(16),
        identity: newIdentity(type),
        type,
      });
      const details = createPublicKey({ key: publicKey, format: 'der', type: 'spki' }).asymmetricKeyDetails;
      expect(details).toEqual(DETAILS[type]);
      expect(evidence).toEqual({
        tokenLabel: token.label,
        tokenSerial: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
        tokenModel: 'SoftHSM v2',
        local: true,
        sensitive: true,
        extractable: false,
        alwaysSensitive: true,
        neverExtractable: true,
      });
    },
  );

  it('rejects a CKA_ID in use, and the first key still signs', async () => {
    const key = await newKey(vault, 'ec-p256');
    const again = vault.generate({ ckaId: key.ckaId, identity: newIdentity('again'), type: 'ec-p384' });
    await expect(again).rejects.toMatchObject({ kind: 'conflict', code: 'hsm.refused' });
    const order = { key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) } as const;
    expect((await vault.sign(order)).length).toBeGreaterThan(60);
  });

  it.each([0, 256])('rejects a CKA_ID of %i bytes', async (length) => {
    const made = vault.generate({ ckaId: Buffer.alloc(length), identity: newIdentity('x'), type: 'ec-p256' });
    await expect(made).rejects.toMatchObject({ kind: 'conflict', code: 'hsm.refused' });
  });
});

describe('sign', () => {
  it('returns no signature if the stored public key does not belong to the key, and keeps serving', async () => {
    const [key, other] = [await newKey(vault, 'ec-p256'), await newKey(vault, 'ec-p256')];
    const mixed = { ...key, publicKey: other.publicKey };
    const order = { key: mixed, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) } as const;
    await expect(vault.sign(order)).rejects.toMatchObject({ kind: 'unavailable', code: 'hsm.wrong-signature' });
    expect(vault.health()).toMatchObject({ up: true, respawns: 0 });
  });

  it.each([
    ['ec-p256', 'ecdsa-der'],
    ['rsa-2048', 'rsa-pkcs1v15'],
    ['rsa-2048', 'rsa-pss'],
  ] as const)('rejects an unreadable stored public key of %s (%s)', async (type, scheme) => {
    const key = { ...(await newKey(vault, type)), publicKey: randomBytes(50) };
    const order = { key, scheme, algorithm: 'sha3-256', digest: randomBytes(32) } as const;
    await expect(vault.sign(order)).rejects.toMatchObject({ kind: 'conflict', code: 'hsm.refused' });
    expect(vault.health()).toMatchObject({ up: true, respawns: 0 });
  });

  // This test runs last, because it replaces the key process and the other tests count respawns.
  it('reports a missing key only after a process that created none has searched for it', async () => {
    const key = { ...(await newKey(vault, 'ec-p256')), ckaId: randomBytes(16) };
    const order = { key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) } as const;
    await expect(vault.sign(order)).rejects.toMatchObject({ kind: 'conflict', code: 'hsm.key-missing' });
    await expect(vault.sign(order)).rejects.toMatchObject({ kind: 'conflict', code: 'hsm.key-missing' });
    expect(vault.health()).toMatchObject({ up: true, respawns: 1 });
  });
});

it('the key process does not receive the PIN or settings of the service in its arguments or environment', () => {
  const { pid } = vault.health();
  expect(pid).toBeGreaterThan(0);
  const seen = execFileSync('cat', [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`], { encoding: 'latin1' });
  const pin = execFileSync('cat', [token.pinFile], { encoding: 'utf8' }).trim();
  expect(pin.length).toBeGreaterThan(3);
  expect(seen).toContain('SOFTHSM2_CONF=');
  expect(seen).not.toContain(pin);
  expect(seen).not.toContain(SECRET);
});
