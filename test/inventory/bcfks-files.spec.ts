import { createCipheriv, pbkdf2Sync, randomBytes, scryptSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled, KeyFolder, keysIn, materialOf, PASSWORD, readCredential, refusal } from './key-folder.js';

const hasKeytool = isInstalled('keytool', '-help');

let files: KeyFolder;
beforeAll(() => {
  files = new KeyFolder();
});
afterAll(() => files.remove());

const keytool = (...words: string[]) => files.run('keytool', words);
const bytesOf = (file: string) => files.bytesOf(file);

describe('a BCFKS key store', () => {
  const length = (count: number) =>
    count < 128 ? [count] : count < 256 ? [0x81, count] : [0x82, count >> 8, count & 0xff];
  const der = (tag: number, ...parts: (Buffer | string)[]) => {
    const contents = Buffer.concat(parts.map((part) => Buffer.from(part)));
    return Buffer.concat([Buffer.from([tag, ...length(contents.length)]), contents]);
  };
  const seq = (...parts: Buffer[]) => der(0x30, ...parts);
  const oid = (hex: string) => der(6, Buffer.from(hex, 'hex'));
  const integer = (value: number) => der(2, Buffer.from(value.toString(16).padStart(8, '0'), 'hex'));
  const utf16 = (text: string) => Buffer.from(`${text}\u0000`, 'utf16le').swap16();
  const TIME = der(0x18, '20260101000000Z');

  /** Encrypts like Bouncy Castle: PBES2 with a key derived from the password and the purpose, and AES-256 in CCM mode. */
  function encrypted(
    clear: Buffer,
    purpose: string,
    derivation: 'scrypt' | 'pbkdf2',
    rounds = 1024,
  ): { algorithm: Buffer; content: Buffer } {
    const [salt, nonce] = [randomBytes(16), randomBytes(13)];
    const secret = Buffer.concat([utf16(PASSWORD), utf16(purpose)]);
    const isScrypt = derivation === 'scrypt';
    const key = isScrypt
      ? scryptSync(secret, salt, 32, { N: 1024, r: 8, p: 1 })
      : pbkdf2Sync(secret, salt, rounds < 1e6 ? rounds : 1, 32, 'sha512');
    const cipher = createCipheriv('aes-256-ccm', key, nonce, { authTagLength: 8 });
    const content = Buffer.concat([cipher.update(clear), cipher.final(), cipher.getAuthTag()]);
    const kdf = isScrypt
      ? seq(oid('2b06010401da47040b'), seq(der(4, salt), integer(1024), integer(8), integer(1)))
      : seq(
          oid('2a864886f70d01050c'),
          seq(der(4, salt), integer(rounds), integer(32), seq(oid('2a864886f70d020b'), der(5))),
        );
    const scheme = seq(oid('60864801650304012f'), seq(der(4, nonce), der(2, Buffer.from([8]))));
    return { algorithm: seq(oid('2a864886f70d01050d'), seq(kdf, scheme)), content: der(4, content) };
  }

  function store(derivation: 'scrypt' | 'pbkdf2', rounds?: number): Buffer {
    const entry = (type: number, alias: string, data: Buffer) =>
      seq(der(2, Buffer.from([type])), der(12, alias), TIME, TIME, der(4, data));
    const secretKey = encrypted(
      seq(oid('6086480165030401'), der(4, randomBytes(16))),
      'SECRET_KEY_ENCRYPTION',
      derivation,
    );
    const privateKey = encrypted(randomBytes(60), 'PRIVATE_KEY_ENCRYPTION', derivation);
    const certificate = Buffer.from(
      bytesOf('shop.pem')
        .toString()
        .replaceAll(/-----.*-----|\s/g, ''),
      'base64',
    );
    const entries = seq(
      entry(0, 'trusted', certificate),
      entry(1, 'pair', seq(seq(privateKey.algorithm, privateKey.content), seq(certificate))),
      entry(2, 'master', seq(secretKey.algorithm, secretKey.content)),
    );
    const data = seq(der(2, Buffer.from([1])), seq(oid('2a864886f70d020b')), TIME, TIME, entries);
    const whole = encrypted(data, 'STORE_ENCRYPTION', derivation, rounds);
    return seq(
      seq(whole.algorithm, whole.content),
      seq(seq(oid('2a864886f70d020b')), seq(oid('2a864886f70d01050c')), der(4, randomBytes(64))),
    );
  }

  it.each(['scrypt', 'pbkdf2'] as const)(
    'with %s lists certificates, keys and the use of secret keys',
    (derivation) => {
      const bytes = store(derivation);
      const { format, names, components, warnings } = readCredential(bytes, PASSWORD);
      expect({ format, warnings }).toEqual({ format: 'BCFKS', warnings: [] });
      expect(names).toEqual(
        expect.arrayContaining([
          'certificate shop.example',
          'related-crypto-material pair',
          'related-crypto-material master',
          'algorithm AES-128',
        ]),
      );
      expect(materialOf(keysIn(components, 'secret-key')[0])).toMatchObject({
        size: 128,
        securedBy: { mechanism: 'Software' },
      });
      for (const wrong of [undefined, 'not this one'])
        expect(refusal(() => readCredential(bytes, wrong))).toBe('key-store.password');
    },
  );

  it('is not opened if it requires more rounds than the limit per body', () => {
    expect(refusal(() => readCredential(store('pbkdf2', 1_000_000_000), PASSWORD))).toBe('key-store.password');
  });

  const jar = '/usr/share/java/bcprov.jar';
  it.skipIf(!hasKeytool || !existsSync(jar))('written by Bouncy Castle is read', () => {
    const provider = ['-providerpath', jar, '-providerclass', 'org.bouncycastle.jce.provider.BouncyCastleProvider'];
    const target = ['-keystore', 'real.bcfks', '-storetype', 'BCFKS', '-storepass', PASSWORD, ...provider];
    keytool('-genseckey', '-alias', 'master', '-keyalg', 'AES', '-keysize', '256', ...target);
    keytool('-importcert', '-noprompt', '-alias', 'trusted', '-file', 'shop.pem', ...target);
    keytool('-genkeypair', '-alias', 'pair', '-keyalg', 'RSA', '-keysize', '2048', '-dname', 'CN=pair', ...target);
    const { names, components } = readCredential(bytesOf('real.bcfks'), PASSWORD);
    expect(names).toEqual(
      expect.arrayContaining([
        'certificate shop.example',
        'certificate pair',
        'related-crypto-material pair',
        'algorithm AES-256',
      ]),
    );
    expect(materialOf(keysIn(components, 'secret-key')[0])).toMatchObject({ size: 256 });
    expect(refusal(() => readCredential(bytesOf('real.bcfks'), 'not this one'))).toBe('key-store.password');
  });
});
