import { describe, expect, it } from 'vitest';
import type { Config } from '../config/config.js';
import { Seal } from '../sealing/seal.js';
import { closeMail, openMail } from './mailbox.js';

const seal = new Seal({ jwtSecret: 'a secret of the test, long enough for HKDF' } as Config);
const mail = { id: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11', recipient: 'ann@example.com' };

describe('the text of a mail', () => {
  it('opens for the recipient that it was written for, and for nobody else', () => {
    const sealed = closeMail(seal, mail, 'https://sealwright.example/reset#secret');
    expect(openMail(seal, mail, sealed)).toBe('https://sealwright.example/reset#secret');
    expect(() => openMail(seal, { ...mail, recipient: 'eve@example.com' }, sealed)).toThrow(/authenticate/);
    expect(() => openMail(seal, { ...mail, id: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12' }, sealed)).toThrow(
      /authenticate/,
    );
  });

  it('that a version before sealed, for the mail alone, still opens', () => {
    expect(openMail(seal, mail, seal.close('mail', mail.id, Buffer.from('hello')))).toBe('hello');
  });
});
