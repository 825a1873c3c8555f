import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled, KeyFolder, keysIn, materialOf, PASSWORD, readCredential, refusal } from './key-folder.js';

const hasKeytool = isInstalled('keytool', '-help');

let files: KeyFolder;
beforeAll(() => {
  files = new KeyFolder();
});
afterAll(() => files.remove());

const openssl = (...words: string[]) => files.run('openssl', words);
const keytool = (...words: string[]) => files.run('keytool', words);
const bytesOf = (file: string) => files.bytesOf(file);

describe('a PKCS #12 file', () => {
  const made = (...options: string[]) => {
    openssl(
      'pkcs12',
      '-export',
      '-in',
      'shop.pem',
      '-inkey',
      'ec.pem',
      '-name',
      'shop',
      ...options,
      '-out',
      'made.p12',
    );
    return bytesOf('made.p12');
  };

  it.each<[string, string[], string]>([
    ['without a MAC', ['-nomac', '-passout', `pass:${PASSWORD}`], ''],
    ['with an empty password', ['-passout', 'pass:'], ''],
    [
      'with certificates under RC2 of 40 bits',
      ['-legacy', '-certpbe', 'PBE-SHA1-RC2-40', '-passout', `pass:${PASSWORD}`],
      PASSWORD,
    ],
    [
      'with certificates under RC2 of 128 bits',
      ['-legacy', '-certpbe', 'PBE-SHA1-RC2-128', '-passout', `pass:${PASSWORD}`],
      PASSWORD,
    ],
    [
      'with certificates under RC4',
      ['-legacy', '-certpbe', 'PBE-SHA1-RC4-128', '-passout', `pass:${PASSWORD}`],
      PASSWORD,
    ],
    [
      'with certificates under RC4 of 40 bits',
      ['-legacy', '-certpbe', 'PBE-SHA1-RC4-40', '-passout', `pass:${PASSWORD}`],
      PASSWORD,
    ],
    [
      'with certificates under two keys of DES',
      ['-legacy', '-certpbe', 'PBE-SHA1-2DES', '-passout', `pass:${PASSWORD}`],
      PASSWORD,
    ],
    ['with certificates in the clear', ['-certpbe', 'NONE', '-passout', `pass:${PASSWORD}`], ''],
  ])('%s is read', (_, options, password) => {
    const store = made(...options);
    const { names, rejected } = readCredential(store, password);
    expect(rejected).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(['certificate shop.example', 'related-crypto-material shop']));
    const isOpen = password === '';
    expect(isOpen || refusal(() => readCredential(store, 'not this one'))).toBe(isOpen || 'key-store.password');
  });

  it.skipIf(!hasKeytool)('from keytool may contain secret keys', () => {
    keytool(
      '-genseckey',
      '-alias',
      'mac',
      '-keyalg',
      'HmacSHA256',
      '-keysize',
      '256',
      '-keystore',
      'secret.p12',
      '-storetype',
      'PKCS12',
      '-storepass',
      PASSWORD,
    );
    const opened = readCredential(bytesOf('secret.p12'), PASSWORD);
    expect(opened.names).toEqual(expect.arrayContaining(['related-crypto-material mac', 'algorithm HmacSHA256']));
    expect(opened.warnings).toEqual([]);
    const closed = readCredential(bytesOf('secret.p12'));
    expect(closed.names).toContain('related-crypto-material mac');
    expect(closed.warnings.map(({ code }) => code)).toEqual(['key-store.secret-keys']);
  });
});

describe.skipIf(!hasKeytool)('a JCEKS file', () => {
  beforeAll(() => {
    const store = ['-keystore', 'all.jceks', '-storetype', 'JCEKS', '-storepass', PASSWORD, '-keypass', PASSWORD];
    keytool('-genseckey', '-alias', 'a-secret', '-keyalg', 'AES', '-keysize', '256', ...store);
    keytool('-genseckey', '-alias', 'b-old', '-keyalg', 'DESede', '-keysize', '168', ...store);
    keytool(
      '-genkeypair',
      '-alias',
      'c-pair',
      '-keyalg',
      'EC',
      '-groupname',
      'secp256r1',
      '-dname',
      'CN=pair',
      ...store,
    );
    keytool('-importcert', '-noprompt', '-alias', 'd-trusted', '-file', 'shop.pem', ...store);
  });

  it('is read past its secret keys, which report their use when opened', () => {
    const { names, components, warnings } = readCredential(bytesOf('all.jceks'), PASSWORD);
    expect(warnings).toEqual([]);
    expect(names).toEqual(
      expect.arrayContaining([
        'certificate pair',
        'certificate shop.example',
        'algorithm AES-256',
        'algorithm DESede',
        'related-crypto-material c-pair',
      ]),
    );
    const secrets = keysIn(components, 'secret-key').map(
      (component) => `${component.name} ${String(materialOf(component)['size'])}`,
    );
    expect(new Set(secrets)).toEqual(new Set(['a-secret 256', 'b-old 168']));
  });

  it('returns what it can without its password, and nothing with a wrong one', () => {
    const { names, warnings } = readCredential(bytesOf('all.jceks'));
    expect(names).toEqual(
      expect.arrayContaining([
        'certificate pair',
        'certificate shop.example',
        'related-crypto-material a-secret',
        'algorithm PBEWithMD5AndTripleDES',
      ]),
    );
    expect(names).not.toContain('algorithm AES-256');
    expect(warnings.map(({ code }) => code)).toEqual(['key-store.secret-keys']);
    expect(refusal(() => readCredential(bytesOf('all.jceks'), 'not this one'))).toBe('key-store.password');
  });

  it('is rejected or partially read if damaged or inconsistent', () => {
    const good = bytesOf('all.jceks');
    for (let at = 12; at < good.length; at += 7) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ 0xff;
      expect(['taken', 'document.format']).toContain(refusal(() => readCredential(bad)));
      expect(['taken', 'document.format']).toContain(refusal(() => readCredential(good.subarray(0, at))));
    }
  });
});
