import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CdxComponent } from '../../src/inventory/model/document.js';
import { KeyFolder, keysIn, materialOf, PASSWORD, readCredential } from './key-folder.js';

let files: KeyFolder;
beforeAll(() => {
  files = new KeyFolder();
});
afterAll(() => files.remove());

const openssl = (...words: string[]) => files.run('openssl', words);
const bytesOf = (file: string) => files.bytesOf(file);

describe('private key files', () => {
  it('are the same key with preceding parameters, in PKCS #8 and in DER', () => {
    openssl('pkcs8', '-topk8', '-nocrypt', '-in', 'ec.pem', '-out', 'plain.pem');
    openssl('pkcs8', '-topk8', '-nocrypt', '-in', 'ec.pem', '-outform', 'DER', '-out', 'plain.der');
    openssl('ec', '-in', 'ec.pem', '-outform', 'DER', '-out', 'sec1.der');
    expect(bytesOf('ec.pem').toString()).toMatch(/^-----BEGIN EC PARAMETERS-----/);
    const ids = ['ec.pem', 'plain.pem', 'plain.der', 'sec1.der'].map((file) => {
      const { rejected, components } = readCredential(bytesOf(file));
      expect(rejected).toEqual([]);
      return materialOf(keysIn(components, 'private-key')[0])['id'];
    });
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it('are listed by their protection if encrypted, and opened with their password', () => {
    openssl('pkcs8', '-topk8', '-in', 'ec.pem', '-passout', `pass:${PASSWORD}`, '-out', 'closed.pem');
    openssl(
      'pkcs8',
      '-topk8',
      '-in',
      'ec.pem',
      '-passout',
      `pass:${PASSWORD}`,
      '-outform',
      'DER',
      '-out',
      'closed.der',
    );
    openssl('ec', '-in', 'ec.pem', '-aes128', '-passout', `pass:${PASSWORD}`, '-out', 'old.pem');
    const open = materialOf(keysIn(readCredential(bytesOf('ec.pem')).components, 'private-key')[0])['id'];
    for (const [file, scheme] of [
      ['closed.pem', 'PBES2-HMAC-SHA256-AES-256-CBC'],
      ['closed.der', 'PBES2-HMAC-SHA256-AES-256-CBC'],
      ['old.pem', 'PEM AES-128-CBC'],
    ] as const) {
      const closed = readCredential(bytesOf(file));
      expect(closed.rejected).toEqual([]);
      expect(closed.names).toContain(`algorithm ${scheme}`);
      expect(materialOf(keysIn(closed.components, 'private-key')[0])['securedBy']).toMatchObject({
        mechanism: 'Software',
      });
      expect(readCredential(bytesOf(file), 'not this one').names).toEqual(closed.names);
      const [opened] = keysIn(readCredential(bytesOf(file), PASSWORD).components, 'private-key');
      expect(materialOf(opened)['id']).toBe(open);
    }
  });

  it('stay closed if they require more rounds than the limit per body', () => {
    openssl('pkcs8', '-topk8', '-in', 'ec.pem', '-iter', '2000000', '-passout', `pass:${PASSWORD}`, '-out', 'slow.pem');
    // Keys are decrypted one by one, so the first key uses most of the budget of three million rounds.
    const { names } = readCredential(Buffer.concat(Array.from({ length: 200 }, () => bytesOf('slow.pem'))), PASSWORD);
    const keys = names.filter((name) => name.includes('private key'));
    expect(keys).toContainEqual(expect.stringMatching(/^related-crypto-material encrypted private key/));
    expect(keys).toContainEqual(expect.stringMatching(/^related-crypto-material private key/));
  });

  it('from PuTTY are identified by their public half', () => {
    const { publicKey } = generateKeyPairSync('ed25519');
    const x = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
    const field = (part: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, part.length]), part]);
    const blob = Buffer.concat([field(Buffer.from('ssh-ed25519')), field(x)]).toString('base64');
    const file = (encryption: string) =>
      [
        'PuTTY-User-Key-File-3: ssh-ed25519',
        `Encryption: ${encryption}`,
        'Comment: ops@laptop',
        'Public-Lines: 2',
        blob.slice(0, 64),
        blob.slice(64),
        'Key-Derivation: Argon2id',
        'Private-Lines: 1',
        'c2VjcmV0IHBhcnQgb2YgdGhlIGtleQ==',
        'Private-MAC: 00',
      ].join('\r\n');
    const ssh = readCredential(`ssh-ed25519 ${blob} ops@laptop`);
    const closed = readCredential(file('aes256-cbc'));
    expect({ format: closed.format, names: closed.names }).toEqual({
      format: 'PuTTY',
      names: [
        'algorithm PuTTY Argon2id aes256-cbc',
        'algorithm Ed25519',
        'related-crypto-material private key ops@laptop',
      ],
    });
    const property = (component: CdxComponent | undefined) =>
      component?.properties?.find(({ name }) => name.endsWith('public-key-sha256'))?.value;
    expect(property(keysIn(closed.components, 'private-key')[0])).toBe(
      property(keysIn(ssh.components, 'public-key')[0]),
    );
    expect(keysIn(readCredential(file('none')).components, 'private-key')[0]?.properties).toContainEqual({
      name: 'sealwright:withheld',
      value: 'file',
    });
    expect(JSON.stringify(readCredential(file('none')).components)).not.toContain('c2VjcmV0');
    for (const broken of [
      'PuTTY-User-Key-File-3: ssh-ed25519',
      file('none').replace('Public-Lines: 2', 'Public-Lines: x'),
    ])
      expect(readCredential(broken).rejected).toHaveLength(1);
  });
});

describe('real-world PEM files', () => {
  it('may contain comments, byte order marks, other line endings and non-certificate blocks', () => {
    const pem = bytesOf('shop.pem').toString();
    const expected = readCredential(pem).names;
    const crl = `-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n`;
    const parameters = `-----BEGIN DH PARAMETERS-----\nMAA=\n-----END DH PARAMETERS-----\n`;
    for (const text of [
      `subject=CN = shop\n# bundle: of ours\n${pem}`,
      `\uFEFF${pem}`,
      pem.replaceAll('\n', '\r\n'),
      `${crl}${pem}${parameters}`,
      pem.replaceAll('CERTIFICATE', 'X509 CERTIFICATE'),
    ]) {
      const { names, rejected } = readCredential(text);
      expect({ names, rejected }).toEqual({ names: expected, rejected: [] });
    }
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(pem, 'utf16le')]);
    expect(readCredential(utf16).names).toEqual(expected);
    expect(readCredential(`${crl}${pem}`).warnings.map(({ code }) => code)).toEqual(['pem.passed-over']);
  });

  it('may contain OpenSSL trusted certificates', () => {
    openssl('x509', '-in', 'shop.pem', '-trustout', '-addtrust', 'serverAuth', '-out', 'trusted.pem');
    expect(bytesOf('trusted.pem').toString()).toContain('BEGIN TRUSTED CERTIFICATE');
    expect(readCredential(bytesOf('trusted.pem')).names).toEqual(readCredential(bytesOf('shop.pem')).names);
  });

  it('may actually be DER, with any file name, and concatenated', () => {
    openssl('x509', '-in', 'shop.pem', '-outform', 'DER', '-out', 'shop.der');
    openssl('pkey', '-in', 'ec.pem', '-pubout', '-outform', 'DER', '-out', 'public.der');
    expect(readCredential(bytesOf('shop.der')).names).toEqual(readCredential(bytesOf('shop.pem')).names);
    expect(readCredential(Buffer.concat([bytesOf('shop.der'), Buffer.from('\n')])).names).toEqual(
      readCredential(bytesOf('shop.pem')).names,
    );
    const both = readCredential(Buffer.concat([bytesOf('public.der'), bytesOf('shop.der')]));
    expect(both.names.filter((name) => name.startsWith('certificate'))).toEqual(['certificate shop.example']);
  });
});
