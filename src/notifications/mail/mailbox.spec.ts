import { describe, expect, it } from 'vitest';
import type { Config } from '../../platform/config/config.js';
import { Seal } from '../../platform/sealing/seal.js';
import type { SealFormat } from '../../platform/sealing/seal-format.js';
import { closeMail, openMail } from './mailbox.js';

const config = { jwtSecrets: ['a secret of the test, long enough for HKDF'] } as unknown as Config;
const seal = new Seal(config, { namesKeys: true } as SealFormat);
const mail = { id: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11', recipient: 'ann@example.com' };

describe('a sealed email body', () => {
  it('opens only for its intended recipient', () => {
    const sealed = closeMail(seal, mail, 'https://sealwright.example/reset#secret');
    expect(openMail(seal, mail, sealed)).toBe('https://sealwright.example/reset#secret');
    expect(() => openMail(seal, { ...mail, recipient: 'eve@example.com' }, sealed)).toThrow(/cannot be decrypted/);
    expect(() => openMail(seal, { ...mail, id: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12' }, sealed)).toThrow(
      /cannot be decrypted/,
    );
  });

  it('sealed by a previous version, without the recipient, still opens', () => {
    expect(openMail(seal, mail, seal.close('mail', mail.id, Buffer.from('hello')))).toBe('hello');
  });
});
