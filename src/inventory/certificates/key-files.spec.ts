import { execFileSync, spawnSync } from 'node:child_process';
import { createCipheriv, generateKeyPairSync, pbkdf2Sync, randomBytes, scryptSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Problem } from '../../platform/http/problem.js';
import type { CdxComponent } from '../ingest/draft.js';
import { DraftRefs } from '../ingest/draft-refs.js';
import { readCredentials } from './credential-reader.js';

const PASSWORD = 'changeit';
const has = (program: string, ...words: string[]) => spawnSync(program, words).error === undefined;
const hasKeytool = has('keytool', '-help');
const hasGpg = has('gpg', '--version');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealwright-keys-'));
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-out', 'ec.pem');
  openssl('req', '-x509', '-key', 'ec.pem', '-subj', '/CN=shop.example', '-days', '30', '-out', 'shop.pem');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(program: string, words: readonly string[], env: Record<string, string> = {}): Buffer {
  return execFileSync(program, words, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
}
const openssl = (...words: string[]) => run('openssl', words);
const keytool = (...words: string[]) => run('keytool', words);
const bytesOf = (file: string) => readFileSync(join(folder, file));

function read(bytes: Buffer | string, password?: string) {
  const draft = readCredentials(Buffer.from(bytes), { source: 'host:/file', password });
  const components = [...draft.assets(new DraftRefs())].map(({ component }) => component);
  const names = components.map(({ name, cryptoProperties }) => `${cryptoProperties?.assetType} ${name}`);
  return { ...draft, components, names };
}

function materialOf({ cryptoProperties }: CdxComponent = { type: '', name: '' }): Record<string, unknown> {
  return cryptoProperties?.relatedCryptoMaterialProperties ?? {};
}
const keysIn = (components: readonly CdxComponent[], type: string) =>
  components.filter((component) => materialOf(component)['type'] === type);

function refusal(act: () => unknown): string {
  try {
    act();
    return 'taken';
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

describe('private keys', () => {
  it('with parameters before them, in PKCS #8 and in DER are the same key', () => {
    openssl('pkcs8', '-topk8', '-nocrypt', '-in', 'ec.pem', '-out', 'plain.pem');
    openssl('pkcs8', '-topk8', '-nocrypt', '-in', 'ec.pem', '-outform', 'DER', '-out', 'plain.der');
    openssl('ec', '-in', 'ec.pem', '-outform', 'DER', '-out', 'sec1.der');
    expect(bytesOf('ec.pem').toString()).toMatch(/^-----BEGIN EC PARAMETERS-----/);
    const ids = ['ec.pem', 'plain.pem', 'plain.der', 'sec1.der'].map((file) => {
      const { rejected, components } = read(bytesOf(file));
      expect(rejected).toEqual([]);
      return materialOf(keysIn(components, 'private-key')[0])['id'];
    });
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it('that are encrypted are listed by what protects them, and opened by their password', () => {
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
    const open = materialOf(keysIn(read(bytesOf('ec.pem')).components, 'private-key')[0])['id'];
    for (const [file, scheme] of [
      ['closed.pem', 'PBES2-HMAC-SHA256-AES-256-CBC'],
      ['closed.der', 'PBES2-HMAC-SHA256-AES-256-CBC'],
      ['old.pem', 'PEM AES-128-CBC'],
    ] as const) {
      const closed = read(bytesOf(file));
      expect(closed.rejected).toEqual([]);
      expect(closed.names).toContain(`algorithm ${scheme}`);
      expect(materialOf(keysIn(closed.components, 'private-key')[0])['securedBy']).toMatchObject({
        mechanism: 'Software',
      });
      expect(read(bytesOf(file), 'not this one').names).toEqual(closed.names);
      const [opened] = keysIn(read(bytesOf(file), PASSWORD).components, 'private-key');
      expect(materialOf(opened)['id']).toBe(open);
    }
  });

  it('that ask for more rounds than one body may cost stay closed', () => {
    openssl('pkcs8', '-topk8', '-in', 'ec.pem', '-iter', '2000000', '-passout', `pass:${PASSWORD}`, '-out', 'slow.pem');
    const began = performance.now();
    const { names } = read(Buffer.concat(Array.from({ length: 200 }, () => bytesOf('slow.pem'))), PASSWORD);
    expect(names.filter((name) => name.includes('private key')).length).toBeGreaterThan(0);
    expect(performance.now() - began).toBeLessThan(60_000);
  });

  it('of PuTTY go by their public half', () => {
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
    const ssh = read(`ssh-ed25519 ${blob} ops@laptop`);
    const closed = read(file('aes256-cbc'));
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
    expect(keysIn(read(file('none')).components, 'private-key')[0]?.properties).toContainEqual({
      name: 'sealwright:withheld',
      value: 'file',
    });
    expect(JSON.stringify(read(file('none')).components)).not.toContain('c2VjcmV0');
    for (const broken of [
      'PuTTY-User-Key-File-3: ssh-ed25519',
      file('none').replace('Public-Lines: 2', 'Public-Lines: x'),
    ])
      expect(read(broken).rejected).toHaveLength(1);
  });
});

describe('PEM as people have it', () => {
  it('has comments, byte order marks, other line ends and blocks beside certificates', () => {
    const pem = bytesOf('shop.pem').toString();
    const expected = read(pem).names;
    const crl = `-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n`;
    const parameters = `-----BEGIN DH PARAMETERS-----\nMAA=\n-----END DH PARAMETERS-----\n`;
    for (const text of [
      `subject=CN = shop\n# bundle: of ours\n${pem}`,
      `\uFEFF${pem}`,
      pem.replaceAll('\n', '\r\n'),
      `${crl}${pem}${parameters}`,
      pem.replaceAll('CERTIFICATE', 'X509 CERTIFICATE'),
    ]) {
      const { names, rejected } = read(text);
      expect({ names, rejected }).toEqual({ names: expected, rejected: [] });
    }
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(pem, 'utf16le')]);
    expect(read(utf16).names).toEqual(expected);
    expect(read(`${crl}${pem}`).warnings.map(({ code }) => code)).toEqual(['pem.passed-over']);
  });

  it('has certificates that OpenSSL trusts for a purpose', () => {
    openssl('x509', '-in', 'shop.pem', '-trustout', '-addtrust', 'serverAuth', '-out', 'trusted.pem');
    expect(bytesOf('trusted.pem').toString()).toContain('BEGIN TRUSTED CERTIFICATE');
    expect(read(bytesOf('trusted.pem')).names).toEqual(read(bytesOf('shop.pem')).names);
  });

  it('may be DER all the same, in files of any name, one behind the other', () => {
    openssl('x509', '-in', 'shop.pem', '-outform', 'DER', '-out', 'shop.der');
    openssl('pkey', '-in', 'ec.pem', '-pubout', '-outform', 'DER', '-out', 'public.der');
    expect(read(bytesOf('shop.der')).names).toEqual(read(bytesOf('shop.pem')).names);
    expect(read(Buffer.concat([bytesOf('shop.der'), Buffer.from('\n')])).names).toEqual(
      read(bytesOf('shop.pem')).names,
    );
    const both = read(Buffer.concat([bytesOf('public.der'), bytesOf('shop.der')]));
    expect(both.names.filter((name) => name.startsWith('certificate'))).toEqual(['certificate shop.example']);
  });
});

describe('PKCS #12', () => {
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
    const { names, rejected } = read(store, password);
    expect(rejected).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(['certificate shop.example', 'related-crypto-material shop']));
    if (password !== '') expect(refusal(() => read(store, 'not this one'))).toBe('key-store.password');
  });

  it.skipIf(!hasKeytool)('of keytool may hold secret keys', () => {
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
    const { names, warnings } = read(bytesOf('secret.p12'), PASSWORD);
    expect(names).toContain('related-crypto-material mac');
    expect(warnings.map(({ code }) => code)).toEqual(['key-store.secret-keys']);
  });
});

describe.skipIf(!hasKeytool)('JCEKS', () => {
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

  it('is read behind its secret keys, which tell what they are for when it is opened', () => {
    const { names, components, warnings } = read(bytesOf('all.jceks'), PASSWORD);
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
    const secrets = keysIn(components, 'secret-key').map((component) => [
      component.name,
      materialOf(component)['size'],
    ]);
    expect(secrets.sort()).toEqual([
      ['a-secret', 256],
      ['b-old', 168],
    ]);
  });

  it('tells as much as it can without its password, and nothing to a wrong one', () => {
    const { names, warnings } = read(bytesOf('all.jceks'));
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
    expect(refusal(() => read(bytesOf('all.jceks'), 'not this one'))).toBe('key-store.password');
  });

  it('that is damaged or lies is refused or read in part, in little time', () => {
    const good = bytesOf('all.jceks');
    const began = performance.now();
    for (let at = 12; at < good.length; at += 7) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ 0xff;
      expect(['taken', 'document.format']).toContain(refusal(() => read(bad)));
      expect(['taken', 'document.format']).toContain(refusal(() => read(good.subarray(0, at))));
    }
    expect(performance.now() - began).toBeLessThan(60_000);
  });
});

describe('BCFKS', () => {
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

  /** As Bouncy Castle writes it: PBES2 of a derivation over the password and the purpose, and AES-256 in CCM mode. */
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
    'under %s shows certificates, keys and what secret keys are for',
    (derivation) => {
      const bytes = store(derivation);
      const { format, names, components, warnings } = read(bytes, PASSWORD);
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
        expect(refusal(() => read(bytes, wrong))).toBe('key-store.password');
    },
  );

  it('that asks for more rounds than one body may cost is not opened', () => {
    expect(refusal(() => read(store('pbkdf2', 1_000_000_000), PASSWORD))).toBe('key-store.password');
  });

  const jar = '/usr/share/java/bcprov.jar';
  it.skipIf(!hasKeytool || spawnSync('test', ['-e', jar]).status !== 0)('that Bouncy Castle wrote is read', () => {
    const provider = ['-providerpath', jar, '-providerclass', 'org.bouncycastle.jce.provider.BouncyCastleProvider'];
    const target = ['-keystore', 'real.bcfks', '-storetype', 'BCFKS', '-storepass', PASSWORD, ...provider];
    keytool('-genseckey', '-alias', 'master', '-keyalg', 'AES', '-keysize', '256', ...target);
    keytool('-importcert', '-noprompt', '-alias', 'trusted', '-file', 'shop.pem', ...target);
    keytool('-genkeypair', '-alias', 'pair', '-keyalg', 'RSA', '-keysize', '2048', '-dname', 'CN=pair', ...target);
    const { names, components } = read(bytesOf('real.bcfks'), PASSWORD);
    expect(names).toEqual(
      expect.arrayContaining([
        'certificate shop.example',
        'certificate pair',
        'related-crypto-material pair',
        'algorithm AES-256',
      ]),
    );
    expect(materialOf(keysIn(components, 'secret-key')[0])).toMatchObject({ size: 256 });
    expect(refusal(() => read(bytesOf('real.bcfks'), 'not this one'))).toBe('key-store.password');
  });
});

describe.skipIf(!hasGpg)('OpenPGP keyrings that gpg wrote', () => {
  let home: string;
  const gpg = (...words: string[]) =>
    run('gpg', ['--batch', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', '', ...words], {
      GNUPGHOME: home,
    });
  const generate = (user: string, algorithm: string, expire = 'never') =>
    gpg('--quick-generate-key', user, algorithm, 'default', expire);
  const columns = (user: string) =>
    gpg('--with-colons', '--list-keys', ...(user === '' ? [] : [user]))
      .toString()
      .split('\n')
      .map((line) => line.split(':'));

  beforeAll(() => {
    home = join(folder, 'gnupg');
    mkdirSync(home, { mode: 0o700 });
    generate('RSA <rsa@example.com>', 'rsa3072', '2y');
    generate('Curve <curve@example.com>', 'ed25519');
    const [, , , , , , , , , fingerprint = ''] = columns('curve@example.com').find(([kind]) => kind === 'fpr') ?? [];
    gpg('--quick-add-key', fingerprint, 'cv25519', 'encr', '1y');
    gpg('--quick-add-key', fingerprint, 'brainpoolP256r1', 'encr');
    gpg('--quick-add-key', fingerprint, 'nistp521', 'encr');
    generate('NIST <nist@example.com>', 'nistp384');
    generate('Old <old@example.com>', 'dsa2048');
    gpg('--import', writeRevocation('Gone <gone@example.com>'));
  });
  afterAll(() => spawnSync('gpgconf', ['--kill', 'all'], { env: { ...process.env, GNUPGHOME: home } }));

  /** The revocation that gpg keeps beside each new key, with the colon that guards it taken out. */
  function writeRevocation(user: string): string {
    generate(user, 'ed25519');
    const [, , , , , , , , , fingerprint = ''] = columns(user).find(([kind]) => kind === 'fpr') ?? [];
    const text = readFileSync(join(home, 'openpgp-revocs.d', `${fingerprint}.rev`), 'utf8').replace(
      ':-----BEGIN',
      '-----BEGIN',
    );
    writeFileSync(join(folder, 'gone.rev'), text);
    return join(folder, 'gone.rev');
  }

  const listed = (bytes: Buffer) =>
    read(bytes).components.filter(({ cryptoProperties }) => cryptoProperties?.assetType === 'related-crypto-material');

  it.each(['--armor', '--no-armor'])('exported with %s say of every key what gpg says', (armor) => {
    const components = listed(gpg(armor, '--export'));
    const said = new Map(components.map((component) => [materialOf(component)['id'], component]));
    const all = columns('');
    let last: string[] = [];
    let checked = 0;
    for (const row of all) {
      if (row[0] === 'pub' || row[0] === 'sub') last = row;
      if (row[0] !== 'fpr') continue;
      const [, , bits, , , created, expires = ''] = last;
      const component = said.get(row[9]?.toLowerCase());
      const facts = materialOf(component);
      expect(component, row[9]).toBeDefined();
      expect(Date.parse(facts['creationDate'] as string) / 1000).toBe(Number(created));
      expect(
        facts['expirationDate'] === undefined ? '' : String(Date.parse(facts['expirationDate'] as string) / 1000),
      ).toBe(expires);
      if (facts['size'] !== undefined) expect(facts['size']).toBe(Number(bits));
      checked += 1;
    }
    expect(checked).toBe(said.size);
    expect(checked).toBeGreaterThan(7);
  });

  it('are listed by their users, algorithms and revocations, and never as certificates', () => {
    const { names, format, rejected, components } = read(gpg('--armor', '--export'));
    expect({ format, rejected }).toEqual({ format: 'OpenPGP', rejected: [] });
    expect(names).toEqual(
      expect.arrayContaining([
        'algorithm RSA-3072',
        'algorithm Ed25519',
        'algorithm X25519',
        'algorithm EC-secp384r1',
        'algorithm ECDH-secp521r1',
        'algorithm ECDH-brainpoolP256r1',
        'algorithm DSA-2048',
        'related-crypto-material RSA <rsa@example.com>',
      ]),
    );
    expect(names.filter((name) => name.startsWith('certificate'))).toEqual([]);
    const gone = components.filter(({ name }) => name.startsWith('Gone'));
    expect(gone.length).toBeGreaterThan(0);
    for (const component of gone) expect(materialOf(component)['state']).toBe('deactivated');
  });

  it('may be the file of gpg itself', () => {
    expect(
      listed(bytesOf('gnupg/pubring.kbx'))
        .map((one) => materialOf(one)['id'])
        .sort(),
    ).toEqual(
      listed(gpg('--export'))
        .map((one) => materialOf(one)['id'])
        .sort(),
    );
  });

  it('of secret keys tell the public half, what protects the other, and nothing of it', () => {
    const open = read(gpg('--export-secret-keys', 'curve@example.com'));
    const keys = keysIn(open.components, 'private-key');
    expect(keys.length).toBe(4);
    for (const key of keys) expect(key.properties).toContainEqual({ name: 'sealwright:withheld', value: 'file' });
    const secret = gpg('--export-secret-keys', 'curve@example.com');
    expect(JSON.stringify(open.components).length).toBeLessThan(20_000);
    expect(JSON.stringify(open.components)).not.toContain(secret.subarray(60, 90).toString('base64').slice(2, 30));
    run(
      'gpg',
      [
        '--batch',
        '--quiet',
        '--pinentry-mode',
        'loopback',
        '--passphrase',
        PASSWORD,
        '--quick-generate-key',
        'Closed <closed@example.com>',
        'ed25519',
        'sign',
        'never',
      ],
      { GNUPGHOME: home },
    );
    const closed = read(
      run(
        'gpg',
        [
          '--batch',
          '--quiet',
          '--pinentry-mode',
          'loopback',
          '--passphrase',
          PASSWORD,
          '--armor',
          '--export-secret-keys',
          'closed@example.com',
        ],
        { GNUPGHOME: home },
      ),
    );
    expect(closed.names.some((name) => /^algorithm OpenPGP AES-\d+$/.test(name))).toBe(true);
    expect(keysIn(closed.components, 'private-key')[0]?.properties).toEqual([]);
  });

  it('that are damaged are read as far as they go, in little time', () => {
    const good = gpg('--export');
    const began = performance.now();
    for (let at = 0; at < good.length; at += 11) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ 0xff;
      expect(['taken', 'document.format']).toContain(refusal(() => read(bad)));
      expect(['taken', 'document.format']).toContain(refusal(() => read(good.subarray(0, at))));
    }
    expect(performance.now() - began).toBeLessThan(60_000);
  });
});

describe('OpenPGP keys of other versions', () => {
  const packet = (tag: number, body: Buffer) =>
    Buffer.concat([Buffer.from([0xc0 | tag, 0xff]), Buffer.from([0, 0, body.length >> 8, body.length & 0xff]), body]);
  const CREATED = Buffer.from('65000000', 'hex');
  const mpi = (bits: number) =>
    Buffer.concat([Buffer.from([bits >> 8, bits & 0xff]), Buffer.alloc(Math.ceil(bits / 8), 0x81)]);
  const sized = (version: number, algorithm: number, material: Buffer) =>
    packet(
      6,
      Buffer.concat([
        Buffer.from([version]),
        CREATED,
        Buffer.from([algorithm, 0, 0, material.length >> 8, material.length & 0xff]),
        material,
      ]),
    );

  it.each<[string, Buffer, string, number]>([
    [
      '3, which ends by itself',
      packet(6, Buffer.concat([Buffer.from([3]), CREATED, Buffer.from([0, 30, 1]), mpi(1024), mpi(17)])),
      'RSA-1024',
      32,
    ],
    [
      '4 with ElGamal',
      packet(6, Buffer.concat([Buffer.from([4]), CREATED, Buffer.from([16]), mpi(2048), mpi(3), mpi(2047)])),
      'ElGamal-2048',
      40,
    ],
    ['5', sized(5, 1, Buffer.concat([mpi(2048), mpi(17)])), 'RSA-2048', 64],
    ['6 with Ed25519', sized(6, 27, Buffer.alloc(32, 7)), 'Ed25519', 64],
    ['6 with X448', sized(6, 26, Buffer.alloc(56, 7)), 'X448', 64],
    ['6 with ML-DSA', sized(6, 30, Buffer.alloc(1984, 7)), 'ML-DSA-65+Ed25519', 64],
    ['6 with ML-KEM', sized(6, 35, Buffer.alloc(1216, 7)), 'ML-KEM-768+X25519', 64],
    ['6 with an algorithm of tomorrow', sized(6, 77, Buffer.alloc(10)), 'OpenPGP algorithm 77', 64],
  ])('version %s', (_, bytes, algorithm, digits) => {
    const { names, components } = read(bytes);
    expect(names).toContain(`algorithm ${algorithm}`);
    const [key] = keysIn(components, 'public-key');
    expect(materialOf(key)['id']).toMatch(new RegExp(`^[0-9a-f]{${digits}}$`));
    if (digits === 32)
      expect(materialOf(key)['expirationDate']).toBe(
        new Date((0x65000000 + 30 * 86_400) * 1000).toISOString().replace('.000', ''),
      );
  });

  it('of which there are many with many signatures are read in time that grows with them', () => {
    const key = sized(6, 27, Buffer.alloc(32, 7));
    const signature = packet(2, Buffer.concat([Buffer.from([4, 0x10, 27, 8, 0, 0, 0, 0]), Buffer.alloc(20)]));
    const subkey = Buffer.concat([Buffer.from([0xc0 | 14]), key.subarray(1)]);
    const many = Buffer.concat([
      key,
      ...Array.from({ length: 20_000 }, () => signature),
      ...Array.from({ length: 20_000 }, () => subkey),
    ]);
    const began = performance.now();
    read(many);
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});
