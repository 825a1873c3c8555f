import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Config } from '../config/config.js';
import type { SealFormat } from './seal-format.js';
import { KEY_MARK, Seal } from './seal.js';

const [OLD, NEW] = ['the-old-secret-of-this-installation-0001', 'the-new-secret-of-this-installation-0002'];
const sealWith = (jwtSecrets: [string, ...string[]], namesKeys: boolean) =>
  new Seal({ jwtSecrets } as Partial<Config> as Config, { namesKeys } as Partial<SealFormat> as SealFormat);
const named = (...jwtSecrets: [string, ...string[]]) => sealWith(jwtSecrets, true);
const plain = Buffer.from('a secret');

/** Encrypts in the format of earlier versions: nonce ‖ tag ‖ ciphertext. */
function sealedBefore(secret: string): Buffer {
  const nonce = randomBytes(12);
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'sealwright seal purpose', 32));
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from('place'));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

describe('sealed data', () => {
  it('names its key, and opens while that secret is known', () => {
    const sealed = named(OLD).close('purpose', 'place', plain);
    expect(sealed.subarray(0, 8)).toEqual(KEY_MARK);
    expect(named(NEW, OLD).open('purpose', 'place', sealed)).toEqual(plain);
    expect(named(OLD, NEW).prefix).not.toEqual(named(NEW, OLD).prefix);
  });

  it('cannot be decrypted without its secret, and the error names the setting', () => {
    const sealed = named(OLD).close('purpose', 'place', plain);
    expect(() => named(NEW).open('purpose', 'place', sealed)).toThrow(
      expect.objectContaining({
        code: 'secret.not-openable',
        message: expect.stringContaining('SVC_JWT_SECRET_PREVIOUS') as string,
      }),
    );
  });

  it('opens only for its purpose and location', () => {
    const sealed = named(OLD).close('purpose', 'place', plain);
    expect(() => named(OLD).open('other', 'place', sealed)).toThrow(/cannot be decrypted/);
    expect(() => named(OLD).open('purpose', 'other', sealed)).toThrow(/cannot be decrypted/);
    for (const cut of [0, 7, 16, 27, sealed.length - 1])
      expect(() => named(OLD).open('purpose', 'place', sealed.subarray(0, cut))).toThrow(/cannot be decrypted/);
  });

  it('from the previous version opens with any known secret', () => {
    expect(named(OLD).open('purpose', 'place', sealedBefore(OLD))).toEqual(plain);
    expect(named(NEW, OLD).open('purpose', 'place', sealedBefore(OLD))).toEqual(plain);
  });

  it('uses the previous format while the previous version may still run', () => {
    const beside = sealWith([OLD], false);
    const sealed = beside.close('purpose', 'place', plain);
    expect(sealed).toHaveLength(12 + 16 + plain.length);
    expect(beside.prefix).toBeUndefined();
    expect(named(OLD).open('purpose', 'place', sealed)).toEqual(plain);
  });
});
