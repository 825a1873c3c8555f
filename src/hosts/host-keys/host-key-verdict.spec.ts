import { describe, expect, it } from 'vitest';
import type { SshCertificateContent } from '../../formats/ssh/certificate-reader.js';
import { certificateFault, judgeHostKey } from './host-key-verdict.js';

const HOST = { name: 'web-1.case.example', address: '192.0.2.11' };
const NOW = new Date('2026-06-01T00:00:00Z');
const faultFor = (principals: string[]) =>
  certificateFault(
    {
      kind: 'host',
      principals,
      validAfter: new Date('2026-01-01T00:00:00Z'),
      validBefore: new Date('2027-01-01T00:00:00Z'),
      criticalOptions: [],
      authority: 'SHA256:ca',
    } as unknown as SshCertificateContent,
    HOST,
    [{ fingerprint: 'SHA256:ca' }],
    NOW,
  );

describe('a host key trusted on first use', () => {
  const key = (name: string, type = 'ssh-ed25519') =>
    ({ blob: Buffer.from(name), type, state: 'tofu-pending' }) as const;
  const judged = (known: readonly ReturnType<typeof key>[], name: string) =>
    judgeHostKey({ known, shown: Buffer.from(name), policy: 'tofu', certified: [], sendsPassword: false });

  it('is the first key of its type; a later one is a change, even if a scan saw it before', () => {
    const known = [key('first'), key('later'), key('other type', 'ssh-rsa')];
    expect(judged(known, 'first')).toEqual({ trusted: true, state: 'tofu-pending' });
    expect(judged(known, 'other type')).toEqual({ trusted: true, state: 'tofu-pending' });
    expect(judged(known, 'later')).toEqual({ trusted: false, state: 'changed' });
    expect(judged(known, 'new')).toEqual({ trusted: false, state: 'changed' });
    expect(judged([], 'new')).toEqual({ trusted: true, state: 'tofu-pending' });
  });
});

describe('host certificate principals are matched as patterns, as in OpenSSH', () => {
  it.each([
    ['the name', ['web-1.case.example']],
    ['the name in capitals', ['WEB-1.case.example']],
    ['the address', ['192.0.2.11']],
    ['every host of a domain', ['*.case.example']],
    ['any one character', ['web-?.case.example']],
    ['an asterisk that stands for nothing', ['web-1*.case.example']],
    ['addresses', ['192.0.2.*']],
    ['the second of two', ['other.example', '*.case.example']],
  ])('match the host: %s', (_, principals) => {
    expect(faultFor(principals)).toBeUndefined();
  });

  it.each([
    ['another domain', ['*.other.example']],
    ['a parent domain without a pattern', ['case.example']],
    ['two characters for one', ['web-??.case.example']],
    ['a domain that goes on', ['*.case']],
    ['a dot that is no pattern', ['web-1xcase.example']],
    ['a negated pattern, which certificates do not have', ['!other.example']],
    ['no host at all', []],
    ['an empty name', ['']],
    ['every host, whatever its name', ['*', '*.*', '**', '?*']],
  ])('do not match the host: %s', (_, principals) => {
    expect(faultFor(principals)).toMatch(/^is for /);
  });
});
