import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { newEd25519Pair } from './key-pair.js';
import { keyBitsOf, fingerprintOf, publicKeyLine, readPublicKeyLine, sshPublicKeyOf } from './public-key.js';

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
  ])('%s %s: fingerprint, bits and comment are those that ssh-keygen prints', (type, bits) => {
    const name = `${type}${bits}`;
    keygen('-q', '-t', type, '-b', bits, '-N', '', '-C', 'ann at home', '-f', name);
    const line = readFileSync(join(directory, `${name}.pub`), 'utf8');
    const key = readPublicKeyLine(line);
    if (key === undefined) throw new Error('not read');
    const [keygenBits, fingerprint] = keygen('-l', '-f', `${name}.pub`).split(' ');
    expect([String(keyBitsOf(key)), fingerprintOf(key.blob), key.comment]).toEqual([
      keygenBits,
      fingerprint,
      'ann at home',
    ]);
    expect(line.startsWith(publicKeyLine(key))).toBe(true);
  });

  it.each(['prime256v1', 'secp384r1', 'secp521r1'])(
    'of the curve %s are written as OpenSSH reads them',
    (namedCurve) => {
      const { publicKey } = generateKeyPairSync('ec', { namedCurve });
      const key = sshPublicKeyOf(publicKey);
      writeFileSync(join(directory, 'ec.pub'), publicKeyLine(key));
      expect(keygen('-l', '-f', 'ec.pub')).toContain(fingerprintOf(key.blob));
    },
  );

  it('are refused when the blob names another type, is cut, or is no base64', () => {
    const { publicKey } = newEd25519Pair('');
    const base64 = publicKey.blob.toString('base64');
    expect(readPublicKeyLine(`ssh-ed25519 ${base64}`)).toBeDefined();
    for (const bad of [`ssh-rsa ${base64}`, 'ssh-ed25519 AAAA', 'ssh-ed25519 %%%', 'ssh-ed25519', '']) {
      expect(readPublicKeyLine(bad)).toBeUndefined();
    }
  });
});

it('a new pair is one that ssh-keygen reads, and its halves belong together', () => {
  for (let round = 0; round < 8; round += 1) {
    const comment = 'x'.repeat(round); // every length of padding
    const { publicKey, privateKey } = newEd25519Pair(comment);
    const file = join(directory, `pair${round}`);
    writeFileSync(file, privateKey);
    chmodSync(file, 0o600);
    expect(keygen('-y', '-f', file).trim()).toBe(`${publicKeyLine(publicKey)} ${comment}`.trim());
  }
});
