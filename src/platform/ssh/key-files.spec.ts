import { describe, expect, it } from 'vitest';
import { keyFilesOf, readConfigured, readEffective } from './key-files.js';

const ann = { name: 'ann', uid: 1007, home: '/home/ann' };

describe('the files that sshd opens for an account', () => {
  it('are those that sshd says, with tokens filled in and relative ones under the home', () => {
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

  it('are all that some Match block may name, when the configuration could only be read', () => {
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

  it('are none where files are switched off and a program answers', () => {
    const settings = readEffective('authorizedkeysfile none\nauthorizedkeyscommand /usr/bin/keys %u\n');
    expect(keyFilesOf(settings, ann)).toEqual([]);
    expect(settings.command).toBe('/usr/bin/keys %u');
  });
});
