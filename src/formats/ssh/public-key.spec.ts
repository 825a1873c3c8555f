import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { newEd25519Pair } from './key-pair.js';
import { wireString } from './wire.js';
import {
  keyBitsOf,
  sshFingerprintOf,
  publicKeyFault,
  publicKeyLine,
  readPublicKeyLine,
  sshPublicKeyOf,
} from './public-key.js';

const directory = mkdtempSync(join(tmpdir(), 'ssh-format-'));
afterAll(() => rmSync(directory, { recursive: true }));
const keygen = (...args: string[]) => execFileSync('ssh-keygen', args, { cwd: directory, encoding: 'utf8' });

describe('public keys', () => {
  it.each([
    ['ed25519', '256'],
    ['rsa', '2048'],
    ['rsa', '3072'],
    ['ecdsa', '256'],
    ['ecdsa', '521'],
  ])('%s %s: fingerprint, bits and comment match ssh-keygen', (type, bits) => {
    const name = `${type}${bits}`;
    keygen('-q', '-t', type, '-b', bits, '-N', '', '-C', 'ann at home', '-f', name);
    const line = readFileSync(join(directory, `${name}.pub`), 'utf8');
    const key = readPublicKeyLine(line);
    if (key === undefined) throw new Error('not read');
    const [keygenBits, fingerprint] = keygen('-l', '-f', `${name}.pub`).split(' ');
    expect([String(keyBitsOf(key)), sshFingerprintOf(key.blob), key.comment]).toEqual([
      keygenBits,
      fingerprint,
      'ann at home',
    ]);
    expect(line.startsWith(publicKeyLine(key))).toBe(true);
  });

  it.each(['prime256v1', 'secp384r1', 'secp521r1'])('on curve %s are encoded as OpenSSH expects', (namedCurve) => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve });
    const key = sshPublicKeyOf(publicKey);
    writeFileSync(join(directory, 'ec.pub'), publicKeyLine(key));
    expect(keygen('-l', '-f', 'ec.pub')).toContain(sshFingerprintOf(key.blob));
  });

  it('are rejected if the blob names another type, is truncated, or is not base64', () => {
    const { publicKey } = newEd25519Pair('');
    const base64 = publicKey.blob.toString('base64');
    expect(readPublicKeyLine(`ssh-ed25519 ${base64}`)).toBeDefined();
    for (const bad of [`ssh-rsa ${base64}`, 'ssh-ed25519 AAAA', 'ssh-ed25519 %%%', 'ssh-ed25519', '']) {
      expect(readPublicKeyLine(bad)).toBeUndefined();
    }
  });
});

describe('alternative encodings of one key', () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const rsa = sshPublicKeyOf(publicKey);
  const { e = '', n = '' } = publicKey.export({ format: 'jwk' });
  const [exponent, modulus] = [e, n].map((part) => Buffer.from(part, 'base64url')) as [Buffer, Buffer];
  const zeros = (count: number) => Buffer.alloc(count);
  const blobOf = (...numbers: Buffer[]) => Buffer.concat(['ssh-rsa', ...numbers].map(wireString)).toString('base64');
  const plain = rsa.blob.toString('base64');
  const point = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 7)]);
  const secure = 'sk-ecdsa-sha2-nistp256@openssh.com';
  const ofToken = Buffer.concat([secure, 'nistp256', point, 'ssh:'].map(wireString)).toString('base64');

  it.each([
    ['the name of a signature algorithm', `rsa-sha2-512 ${plain}`],
    ['the other one', `rsa-sha2-256 ${plain}`],
    ['zeros in front of the modulus', `ssh-rsa ${blobOf(exponent, Buffer.concat([zeros(3), modulus]))}`],
    [
      'zeros in front of the exponent',
      `ssh-rsa ${blobOf(Buffer.concat([zeros(2), exponent]), Buffer.concat([zeros(1), modulus]))}`,
    ],
  ])('%s: ssh-keygen and the service report the same fingerprint', (_what, line) => {
    writeFileSync(join(directory, 'spelled.pub'), line);
    const read = readPublicKeyLine(line);
    expect(read && { type: read.type, blob: read.blob }).toEqual(rsa);
    expect(keygen('-l', '-f', 'spelled.pub')).toContain(sshFingerprintOf(rsa.blob));
  });

  it('include the browser algorithm of a security key', () => {
    const read = readPublicKeyLine(`webauthn-${secure} ${ofToken}`);
    expect(read?.type).toBe(secure);
    expect(read?.blob).toEqual(readPublicKeyLine(`${secure} ${ofToken}`)?.blob);
  });

  it.each([
    ['a negative modulus', `ssh-rsa ${blobOf(exponent, modulus)}`],
    ['the algorithm of another type', `rsa-sha2-512 ${newEd25519Pair('').publicKey.blob.toString('base64')}`],
    ['a short name', `rsa ${plain}`],
  ])('exclude %s, which ssh-keygen rejects too', (_what, line) => {
    writeFileSync(join(directory, 'none.pub'), line);
    expect(() => keygen('-l', '-f', 'none.pub')).toThrow('not a public key file');
    expect(readPublicKeyLine(line)).toBeUndefined();
  });
});

describe('input that is not a public key line', () => {
  const { publicKey, privateKey } = newEd25519Pair('ann');
  writeFileSync(join(directory, 'own'), privateKey, { mode: 0o600 });
  writeFileSync(join(directory, 'own.pub'), `${publicKeyLine(publicKey)}\n`);
  keygen('-q', '-s', 'own', '-I', 'ann', '-n', 'ann', 'own.pub');
  const file = (name: string) => readFileSync(join(directory, name), 'utf8');

  it.each<[string, () => string, RegExp]>([
    ['a certificate', () => file('own-cert.pub'), /^is a certificate/],
    ['RFC 4716', () => keygen('-e', '-f', 'own.pub'), /^is in RFC 4716 format/],
    ['PEM', () => keygen('-e', '-m', 'PKCS8', '-f', 'rsa2048.pub'), /^is PEM/],
    ['a private key', () => file('own'), /^is a private key, which must now be considered compromised/],
    [
      'a private key of PuTTY',
      () => 'PuTTY-User-Key-File-3: ssh-ed25519\n',
      /^is a private key, which must now be considered compromised/,
    ],
    ['two lines', () => file('own.pub').repeat(2), /^must be a single line/],
    ['options in front', () => `no-pty ${file('own.pub')}`, /^must be a public key in the form/],
  ])('%s: the fault names what it is and what to send', (_what, text, expected) => {
    expect(readPublicKeyLine(text())).toBeUndefined();
    expect(publicKeyFault(text())).toMatch(expected);
  });

  it.each(['constructor', 'toString', '__proto__'])('has no key size for the type name %s', (type) => {
    const read = readPublicKeyLine(`${type} ${wireString(type).toString('base64')}`);
    expect(read && keyBitsOf(read)).toBeNull();
  });
});

it('a generated key pair is readable by ssh-keygen, and its halves match', () => {
  for (let round = 0; round < 8; round += 1) {
    const comment = 'x'.repeat(round); // Covers every padding length.
    const { publicKey, privateKey } = newEd25519Pair(comment);
    const file = join(directory, `pair${round}`);
    writeFileSync(file, privateKey);
    chmodSync(file, 0o600);
    expect(keygen('-y', '-f', file).trim()).toBe(`${publicKeyLine(publicKey)} ${comment}`.trim());
  }
});
