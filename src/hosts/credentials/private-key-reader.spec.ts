import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { publicKeyLine } from '../../formats/ssh/public-key.js';
import { PrivateKeyFault } from './private-key-fault.js';
import { readLoginKey } from './private-key-reader.js';

// Key derivation, in OpenSSH and in the reader, is slow on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
const directory = mkdtempSync(join(tmpdir(), 'private-keys-'));
afterAll(() => rmSync(directory, { recursive: true }));
const has = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const PASSPHRASE = 'grüne Wiese 7';
let files = 0;

const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe' });
const path = () => join(directory, `key-${(files += 1)}`);
const stored = (text: string | Buffer): string => {
  const file = path();
  writeFileSync(file, text);
  chmodSync(file, 0o600);
  return file;
};
const sshKeygen = (kind: readonly string[], passphrase = '', more: readonly string[] = []): string => {
  const file = path();
  run('ssh-keygen', '-q', ...kind, '-N', passphrase, '-C', 'a comment', '-f', file, ...more);
  return file;
};
/** Returns the public key that OpenSSH derives from the file, for comparison. */
const byOpenSsh = (file: string, passphrase = '') =>
  run('ssh-keygen', '-y', '-P', passphrase, '-f', file).trim().split(' ').slice(0, 2).join(' ');
const ours = async (text: string, passphrase?: string) =>
  publicKeyLine((await readLoginKey(text, passphrase)).publicKey);
const reasonFor = async (text: string, passphrase?: string): Promise<string> => {
  const fault: unknown = await readLoginKey(text, passphrase).catch((error: unknown) => error);
  return fault instanceof PrivateKeyFault ? fault.reason : `no fault: ${String(fault)}`;
};

const ED25519 = ['-t', 'ed25519'];
const KINDS: readonly (readonly string[])[] = [
  ED25519,
  ['-t', 'rsa', '-b', '2048'],
  ...['256', '384', '521'].map((bits) => ['-t', 'ecdsa', '-b', bits]),
];
const CIPHERS = [
  'aes128-cbc',
  'aes192-cbc',
  'aes256-cbc',
  'aes128-ctr',
  'aes192-ctr',
  'aes256-ctr',
  '3des-cbc',
  'aes128-gcm@openssh.com',
  'aes256-gcm@openssh.com',
  'chacha20-poly1305@openssh.com',
];

describe('a private key from ssh-keygen', () => {
  it.each(KINDS.map((kind) => [kind.join(' '), kind] as const))('%s is read in each format', async (_, kind) => {
    const forms = kind === ED25519 ? ['openssh'] : ['openssh', 'PEM', 'PKCS8'];
    for (const form of forms)
      for (const passphrase of ['', PASSPHRASE]) {
        const file = sshKeygen(kind, passphrase, form === 'openssh' ? ['-a', '1'] : ['-m', form]);
        const text = readFileSync(file, 'utf8');
        expect(await ours(text, passphrase || undefined)).toBe(byOpenSsh(file, passphrase));
        if (passphrase === '') continue;
        expect(await reasonFor(text)).toBe('passphrase-missing');
        expect(await reasonFor(text, 'another')).toBe('passphrase-wrong');
      }
  });

  it.each(CIPHERS)('is read when encrypted with %s', async (cipher) => {
    const file = sshKeygen(ED25519, PASSPHRASE, ['-Z', cipher, '-a', '2']);
    expect(await ours(readFileSync(file, 'utf8'), PASSPHRASE)).toBe(byOpenSsh(file, PASSPHRASE));
    expect(await reasonFor(readFileSync(file, 'utf8'), 'another')).toBe('passphrase-wrong');
  });

  it('is written in a form that OpenSSH reads as the same key', async () => {
    for (const kind of KINDS) {
      const file = sshKeygen(kind);
      const { privateKey } = await readLoginKey(readFileSync(file, 'utf8'));
      expect(byOpenSsh(stored(privateKey))).toBe(byOpenSsh(file));
    }
  });

  it('is read with any line endings, a byte order mark, and pasted surrounding text', async () => {
    for (const form of ['openssh', 'PEM', 'PKCS8']) {
      const file = sshKeygen(['-t', 'ecdsa'], '', form === 'openssh' ? [] : ['-m', form]);
      const text = readFileSync(file, 'utf8');
      const indented = text.replaceAll(/^/gm, '    ').replaceAll('    -----', '-----');
      const oneLine = text.replaceAll('\n', String.raw`\n`);
      const spaces = text.replaceAll('\n', ' ');
      const around = `\n\n# key of web-1\nBag Attributes\n    friendlyName: x\n${text}\n\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n`;
      for (const variant of [
        text.replaceAll('\n', '\r\n'),
        `\uFEFF${text}`,
        text.trim(),
        `\n \n${text}\n\n`,
        indented,
        oneLine,
        text.replaceAll('\n', String.raw`\r\n`),
        text.replaceAll('\n', String.raw`\\n`),
        spaces,
        around,
        text.replaceAll('\n', '\u200B\n'),
        Buffer.from(text).toString('base64'),
        `${(
          Buffer.from(text)
            .toString('base64')
            .match(/.{1,76}/g) ?? []
        ).join('\n')}\n`,
        Buffer.from(around.replaceAll('\n', '\r\n')).toString('base64'),
      ])
        expect(await ours(variant)).toBe(byOpenSsh(file));
      expect(await ours(text, '')).toBe(byOpenSsh(file));
    }
  });

  it('reports a missing passphrase if it is empty, and no key for the base64 of other data', async () => {
    const file = sshKeygen(ED25519, PASSPHRASE, ['-a', '1']);
    expect(await reasonFor(readFileSync(file, 'utf8'), '')).toBe('passphrase-missing');
    for (const inner of ['no key, but long enough to be one'.repeat(9), readFileSync(`${file}.pub`, 'utf8').repeat(2)])
      expect(await reasonFor(Buffer.from(inner).toString('base64'))).toBe('unreadable');
  });

  it('is rejected without computing rounds if it requires too many', async () => {
    const file = sshKeygen(ED25519, PASSPHRASE, ['-a', '1']);
    const [begin = '', ...rest] = readFileSync(file, 'utf8').trim().split('\n');
    const end = rest.pop() ?? '';
    const bytes = Buffer.from(rest.join(''), 'base64');
    const at = bytes.indexOf(Buffer.from('bcrypt')) + 'bcrypt'.length;
    bytes.writeUInt32BE(2 ** 31, at + 4 + 4 + 16); // after the length of the options, and the salt with its length
    expect(await reasonFor([begin, bytes.toString('base64'), end].join('\n'), PASSPHRASE)).toBe('too-costly');
  });
});

describe('a private key from openssl', () => {
  const openssl = (...args: string[]) => run('openssl', ...args);
  const rsa = () => openssl('genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048');
  const ec = () => openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256');

  it.each([
    ['genrsa (PKCS #8)', () => openssl('genrsa', '2048')],
    ['genrsa -traditional (PKCS #1)', () => openssl('genrsa', '-traditional', '2048')],
    ['genpkey RSA', rsa],
    ['genpkey EC', () => openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384')],
    ['ecparam -genkey, parameters before the key', () => openssl('ecparam', '-name', 'prime256v1', '-genkey')],
    ['ecparam -genkey -noout', () => openssl('ecparam', '-name', 'secp521r1', '-genkey', '-noout')],
    ['pkcs8 -nocrypt', () => openssl('pkcs8', '-topk8', '-nocrypt', '-in', stored(rsa()))],
  ])('%s is read as OpenSSH reads it', async (_, make) => {
    const text = make();
    expect(await ours(text)).toBe(byOpenSsh(stored(text)));
    // An unnecessary passphrase is ignored, as with ssh-keygen -P.
    expect(await ours(text, 'not needed')).toBe(byOpenSsh(stored(text)));
  });

  it('is read when generated by genpkey ED25519, as in OpenSSH since 9.6', async () => {
    const text = openssl('genpkey', '-algorithm', 'ED25519');
    const der = execFileSync('openssl', ['pkey', '-in', stored(text), '-pubout', '-outform', 'DER']);
    expect((await ours(text)).startsWith('ssh-ed25519 ')).toBe(true);
    expect((await readLoginKey(text)).publicKey.blob.subarray(-32)).toEqual(der.subarray(-32));
  });

  it.each([
    ['PBES2, AES-256 and SHA-256', ['-v2', 'aes-256-cbc', '-v2prf', 'hmacWithSHA256']],
    [
      'PBES2, AES-128 and SHA-512, 100,000 iterations',
      ['-v2', 'aes-128-cbc', '-v2prf', 'hmacWithSHA512', '-iter', '100000'],
    ],
    ['PBES2, 3DES and SHA-1', ['-v2', 'des3', '-v2prf', 'hmacWithSHA1']],
    ['PBES2, scrypt', ['-scrypt']],
    ['PBE-SHA1-3DES', ['-v1', 'PBE-SHA1-3DES']],
  ])('is read when encrypted with %s', async (_, options) => {
    const text = openssl('pkcs8', '-topk8', '-in', stored(ec()), '-passout', `pass:${PASSPHRASE}`, ...options);
    expect(await ours(text, PASSPHRASE)).toBe(byOpenSsh(stored(text), PASSPHRASE));
    expect(await reasonFor(text)).toBe('passphrase-missing');
    expect(await reasonFor(text, 'another')).toBe('passphrase-wrong');
  });

  it.each(['-aes128', '-aes192', '-aes256', '-des3'])('is read in the legacy encrypted form (%s)', async (cipher) => {
    const text = openssl('rsa', '-traditional', '-in', stored(rsa()), cipher, '-passout', `pass:${PASSPHRASE}`);
    expect(text).toContain('DEK-Info');
    expect(await ours(text.replaceAll('\n', '\r\n'), PASSPHRASE)).toBe(byOpenSsh(stored(text), PASSPHRASE));
    expect(await reasonFor(text)).toBe('passphrase-missing');
    expect(await reasonFor(text, 'another')).toBe('passphrase-wrong');
  });

  it('is rejected before key derivation if it requires too many iterations or too costly scrypt', async () => {
    const key = stored(ec());
    const iterated = openssl('pkcs8', '-topk8', '-in', key, '-passout', 'pass:x', '-iter', '65536');
    const der = Buffer.from(iterated.split('\n').slice(1, -2).join(''), 'base64');
    const at = der.indexOf(Buffer.from('0203010000', 'hex')); // INTEGER 65536
    der.writeUInt8(0x7f, at + 2);
    const pem = `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${der.toString('base64')}\n-----END ENCRYPTED PRIVATE KEY-----`;
    expect(await reasonFor(pem, 'x')).toBe('too-costly');
    const scrypt = openssl(
      'pkcs8',
      '-topk8',
      '-in',
      key,
      '-passout',
      'pass:x',
      '-scrypt',
      '-scrypt_N',
      '16384',
      '-scrypt_p',
      '16',
    );
    expect(await reasonFor(scrypt, 'x')).toBe('too-costly');
  });

  it('of more octets than the longest RSA key is rejected before it is read', async () => {
    const pem = `-----BEGIN PRIVATE KEY-----\n${Buffer.alloc(12_000, 0x30).toString('base64')}\n-----END PRIVATE KEY-----`;
    expect(await reasonFor(pem)).toBe('too-costly');
  });

  it.each([
    ['a DSA key', () => openssl('dsaparam', '-genkey', '-noout', '1024'), 'unsupported', /DSA/],
    ['Ed448', () => openssl('genpkey', '-algorithm', 'ED448'), 'unsupported', /ed448/],
    ['X25519', () => openssl('genpkey', '-algorithm', 'X25519'), 'unsupported', /x25519/],
    ['secp256k1', () => openssl('ecparam', '-name', 'secp256k1', '-genkey'), 'unsupported', /secp256k1/],
    ['RSA of 512 bits', () => openssl('genrsa', '-traditional', '512'), 'unsupported', /512 bits/],
    ['a public key', () => openssl('pkey', '-pubout', '-in', stored(ec())), 'unreadable', /public/],
    [
      'a request',
      () => openssl('req', '-new', '-subj', '/CN=x', '-key', stored(ec())),
      'unreadable',
      /CERTIFICATE REQUEST/,
    ],
    ['a key without its end', () => rsa().split('\n').slice(0, 12).join('\n'), 'unreadable', /END/],
    ['a key without its middle', () => rsa().split('\n').toSpliced(5, 3).join('\n'), 'unreadable', /damaged/],
    ['a key with a letter that is none', () => rsa().replace('MII', 'MI~'), 'unreadable', /base64/],
  ] as const)('%s is rejected by name', async (_, make, reason, words) => {
    const fault = await readLoginKey(make()).catch((error: unknown) => error as PrivateKeyFault);
    expect(fault).toMatchObject({ reason });
    expect((fault as PrivateKeyFault).message).toMatch(words);
  });
});

it.each([
  ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== x', 'unreadable', /public/],
  [
    '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nP2/56wAA\n---- END SSH2 ENCRYPTED PRIVATE KEY ----',
    'unsupported',
    /SSH2/,
  ],
  ['SSH PRIVATE KEY FILE FORMAT 1.1\n', 'unsupported', /protocol 1/],
  ['not a key', 'unreadable', /OpenSSH, PEM/],
  ['PuTTY-User-Key-File-1: ssh-rsa\nEncryption: none', 'unsupported', /version other than/],
] as const)('%s is rejected with the reason', async (text, reason, words) => {
  const fault = await readLoginKey(text).catch((error: unknown) => error as PrivateKeyFault);
  expect(fault).toMatchObject({ reason });
  expect((fault as PrivateKeyFault).message).toMatch(words);
});

describe.runIf(has('puttygen'))('a private key from puttygen', () => {
  const putty = (source: string, passphrase: string, ...options: string[]): string => {
    const [file, secret] = [path(), stored(passphrase)];
    const none = stored('');
    run(
      'puttygen',
      source,
      '-O',
      'private',
      '-o',
      file,
      '--old-passphrase',
      none,
      '--new-passphrase',
      secret,
      ...options,
    );
    return readFileSync(file, 'utf8');
  };
  const PPK = [
    ['version=2'],
    ['version=3'],
    ['version=3,kdf=argon2d'],
    ['version=3,kdf=argon2i,memory=1024,passes=3,parallelism=2'],
  ].map(([parameters = '']) => ['--ppk-param', parameters]);

  it.each(KINDS.map((kind) => [kind.join(' '), kind] as const))('%s is read in versions 2 and 3', async (_, kind) => {
    const source = sshKeygen(kind, '', ['-m', kind === ED25519 ? 'RFC4716' : 'PEM']);
    for (const options of PPK)
      for (const passphrase of ['', 'plain words']) {
        const text = putty(source, passphrase, ...options);
        expect(text).toContain(`Encryption: ${passphrase === '' ? 'none' : 'aes256-cbc'}`);
        expect(await ours(`\uFEFF\r\n${text.replaceAll('\n', '\r\n')}`, passphrase || undefined)).toBe(
          byOpenSsh(source),
        );
        if (passphrase === '') continue;
        expect(await reasonFor(text)).toBe('passphrase-missing');
        expect(await reasonFor(text, 'another')).toBe('passphrase-wrong');
      }
  });

  it('is rejected if it was changed or is too costly', async () => {
    const text = putty(sshKeygen(ED25519), 'x', '--ppk-param', 'version=3');
    const plain = putty(sshKeygen(ED25519), '', '--ppk-param', 'version=3');
    expect(await reasonFor(plain.replace('Comment: a', 'Comment: b'))).toBe('unreadable');
    expect(await reasonFor(text.replace(/Argon2-Memory: \d+/, 'Argon2-Memory: 999999999'), 'x')).toBe('too-costly');
    expect(await reasonFor(text.replace(/Argon2-Passes: \d+/, 'Argon2-Passes: 99999999'), 'x')).toBe('too-costly');
    expect(await reasonFor(text.replace(/Argon2-Salt: .*/, 'Argon2-Salt: zz'), 'x')).toBe('unreadable');
  });

  it('for DSA is rejected by name', async () => {
    const file = path();
    const made = spawnSync(
      'puttygen',
      ['-t', 'dsa', '-b', '1024', '-O', 'private', '-o', file, '--new-passphrase', stored(''), '-q'],
      { timeout: 60_000 },
    );
    if (made.status !== 0) return;
    expect(await reasonFor(readFileSync(file, 'utf8'))).toBe('unsupported');
  });
});
