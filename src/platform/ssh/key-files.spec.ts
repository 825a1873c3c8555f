import { describe, expect, it } from 'vitest';
import { keyFilesOf, readConfigured, readEffective } from './key-files.js';

const ann = { name: 'ann', uid: 1007, home: '/home/ann' };

describe('the files that sshd reads for an account', () => {
  it('match the sshd configuration, with tokens expanded and relative paths below the home directory', () => {
    const settings = readEffective(
      'port 22\nauthorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys2 /etc/ssh/keys/%u %h/x/%U /a%%b\nauthorizedkeyscommand none\n',
    );
    expect(settings).toMatchObject({ confidence: 'high', command: undefined });
    expect(keyFilesOf(settings, ann)).toEqual([
      '/home/ann/.ssh/authorized_keys',
      '/home/ann/.ssh/authorized_keys2',
      '/etc/ssh/keys/ann',
      '/home/ann/x/1007',
      '/a%b',
    ]);
  });

  it('include all that any Match block may name if only the configuration file could be read', () => {
    const settings = readConfigured(
      '# AuthorizedKeysFile no\nAuthorizedKeysFile .ssh/authorized_keys\nMatch User ann\n  AuthorizedKeysFile "/srv/keys of/%u"\nTrustedUserCAKeys=/etc/ssh/ca.pub\n',
    );
    expect(settings).toMatchObject({ confidence: 'low', trustedUserCaKeys: '/etc/ssh/ca.pub' });
    expect(keyFilesOf(settings, ann)).toEqual([
      '/home/ann/.ssh/authorized_keys',
      '/home/ann/.ssh/authorized_keys2',
      '/srv/keys of/ann',
    ]);
  });

  it('are empty if key files are disabled and a command is used', () => {
    const settings = readEffective('authorizedkeysfile none\nauthorizedkeyscommand /usr/bin/keys %u\n');
    expect(keyFilesOf(settings, ann)).toEqual([]);
    expect(settings.command).toBe('/usr/bin/keys %u');
  });
});
