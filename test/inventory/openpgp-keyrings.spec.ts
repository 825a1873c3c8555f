import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled, KeyFolder, keysIn, materialOf, PASSWORD, readCredential, refusal } from './key-folder.js';

const hasGpg = isInstalled('gpg', '--version');
const byText = (a: string, b: string) => (a < b ? -1 : 1);

let files: KeyFolder;
beforeAll(() => {
  files = new KeyFolder();
});
afterAll(() => files.remove());

const bytesOf = (file: string) => files.bytesOf(file);

describe.skipIf(!hasGpg)('an OpenPGP keyring written by gpg', () => {
  let home: string;
  const gpg = (...words: string[]) =>
    files.run('gpg', ['--batch', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', '', ...words], {
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
    home = join(files.path, 'gnupg');
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

  /** Writes the revocation certificate that gpg stores with each new key, without the leading colon that disables it. */
  function writeRevocation(user: string): string {
    generate(user, 'ed25519');
    const [, , , , , , , , , fingerprint = ''] = columns(user).find(([kind]) => kind === 'fpr') ?? [];
    const text = readFileSync(join(home, 'openpgp-revocs.d', `${fingerprint}.rev`), 'utf8').replace(
      ':-----BEGIN',
      '-----BEGIN',
    );
    writeFileSync(join(files.path, 'gone.rev'), text);
    return join(files.path, 'gone.rev');
  }

  const listed = (bytes: Buffer) =>
    readCredential(bytes).components.filter(
      ({ cryptoProperties }) => cryptoProperties?.assetType === 'related-crypto-material',
    );

  it.each(['--armor', '--no-armor'])('exported with %s yields the same key details as gpg', (armor) => {
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
      expect(component).toBeDefined();
      expect(Date.parse(facts['creationDate'] as string) / 1000).toBe(Number(created));
      expect(
        facts['expirationDate'] === undefined ? '' : String(Date.parse(facts['expirationDate'] as string) / 1000),
      ).toBe(expires);
      expect(facts['size'] ?? Number(bits)).toBe(Number(bits));
      checked += 1;
    }
    expect(checked).toBe(said.size);
    expect(checked).toBeGreaterThan(7);
  });

  it('is listed by users, algorithms and revocations, and never as certificates', () => {
    const { names, format, rejected, components } = readCredential(gpg('--armor', '--export'));
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

  it('may be the keyring file of gpg itself', () => {
    expect(
      listed(bytesOf('gnupg/pubring.kbx'))
        .map((one) => String(materialOf(one)['id']))
        .toSorted(byText),
    ).toEqual(
      listed(gpg('--export'))
        .map((one) => String(materialOf(one)['id']))
        .toSorted(byText),
    );
  });

  it('of secret keys yields the public half and the protection, but nothing secret', () => {
    const open = readCredential(gpg('--export-secret-keys', 'curve@example.com'));
    const keys = keysIn(open.components, 'private-key');
    expect(keys.length).toBe(4);
    for (const key of keys) expect(key.properties).toContainEqual({ name: 'sealwright:withheld', value: 'file' });
    const secret = gpg('--export-secret-keys', 'curve@example.com');
    expect(JSON.stringify(open.components).length).toBeLessThan(20_000);
    expect(JSON.stringify(open.components)).not.toContain(secret.subarray(60, 90).toString('base64').slice(2, 30));
    files.run(
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
    const closed = readCredential(
      files.run(
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

  it('that is damaged is read as far as possible', () => {
    const good = gpg('--export');
    for (let at = 0; at < good.length; at += 11) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ 0xff;
      expect(['taken', 'document.format']).toContain(refusal(() => readCredential(bad)));
      expect(['taken', 'document.format']).toContain(refusal(() => readCredential(good.subarray(0, at))));
    }
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
  ])('include version %s', (_, bytes, algorithm, digits) => {
    const { names, components } = readCredential(bytes);
    expect(names).toContain(`algorithm ${algorithm}`);
    const [key] = keysIn(components, 'public-key');
    expect(materialOf(key)['id']).toMatch(new RegExp(`^[0-9a-f]{${digits}}$`));
    const ends = new Date((0x65000000 + 30 * 86_400) * 1000).toISOString().replace('.000', '');
    expect(materialOf(key)['expirationDate']).toBe(digits === 32 ? ends : undefined);
  });

  it('expire according to their newest self-signature, whatever other signatures contain, in any order', () => {
    const key = sized(6, 27, Buffer.alloc(32, 7));
    const number = (type: number, value: number) => {
      const field = Buffer.from([5, type, 0, 0, 0, 0]);
      field.writeUInt32BE(value, 2);
      return field;
    };
    const signature = (created: number, days: number, issuer = Buffer.alloc(0)) => {
      const hashed = Buffer.concat([number(2, created), number(9, days * 86_400), issuer]);
      return packet(2, Buffer.concat([Buffer.from([4, 0x1f, 27, 8, 0, hashed.length]), hashed, Buffer.from([0, 0])]));
    };
    const other = signature(9, 30, Buffer.concat([Buffer.from([9, 16]), Buffer.alloc(8, 1)]));
    for (const signatures of [
      [signature(2, 10), signature(1, 20), other],
      [other, signature(1, 20), signature(2, 10)],
    ]) {
      const [listed] = keysIn(readCredential(Buffer.concat([key, ...signatures])).components, 'public-key');
      const ends = new Date((0x65000000 + 10 * 86_400) * 1000).toISOString().replace('.000', '');
      expect(materialOf(listed)['expirationDate']).toBe(ends);
    }
  });

  it('are read in linear time if there are many with many signatures', () => {
    const key = sized(6, 27, Buffer.alloc(32, 7));
    const signature = packet(2, Buffer.concat([Buffer.from([4, 0x10, 27, 8, 0, 0, 0, 0]), Buffer.alloc(20)]));
    const subkey = Buffer.concat([Buffer.from([0xc0 | 14]), key.subarray(1)]);
    const many = Buffer.concat([
      key,
      ...Array.from({ length: 20_000 }, () => signature),
      ...Array.from({ length: 20_000 }, () => subkey),
    ]);
    readCredential(many);
  });
});
