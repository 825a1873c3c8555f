import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sshPublicKeyOf, type SshPublicKey } from '../../formats/ssh/public-key.js';
import { sshSignature } from '../../formats/ssh/ssh-signature.js';
import { WireReader, wireString } from '../../formats/ssh/wire.js';
import { certificateLine, certificateTypeOf, signingOf, toBeSigned } from './ssh-certificate.js';

const directory = mkdtempSync(join(tmpdir(), 'ssh-certificate-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Returns the public key of a key stored on a security token (PROTOCOL.u2f). */
function tokenKey(type: string, ...parts: (Buffer | string)[]): SshPublicKey {
  return { type, blob: Buffer.concat([type, ...parts, 'ssh:'].map((part) => wireString(part))) };
}

describe('an SSH certificate for a security key', () => {
  const authority = generateKeyPairSync('ed25519');
  const point = Buffer.from(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' }).subarray(-65),
  );
  const order = {
    kind: 'user' as const,
    serial: 17n,
    keyId: 'ann',
    principals: ['ann'],
    validAfter: new Date('2027-01-01'),
    validBefore: new Date('2027-01-02'),
    extensions: ['permit-pty'],
  };

  it.each([
    tokenKey('sk-ssh-ed25519@openssh.com', randomBytes(32)),
    tokenKey('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', point),
  ])('of type $type is readable by ssh-keygen, with a valid signature', (key) => {
    const content = { ...order, key };
    const signed = toBeSigned(content, randomBytes(32), sshPublicKeyOf(authority.publicKey));
    const signature = Buffer.concat([wireString('ssh-ed25519'), wireString(sign(null, signed, authority.privateKey))]);
    const file = join(directory, `${key.type}-cert.pub`);
    writeFileSync(file, `${certificateLine(content, signed, signature)}\n`);
    const shown = execFileSync('ssh-keygen', ['-L', '-f', file], { encoding: 'utf8' });
    expect(shown).toContain(`Type: ${certificateTypeOf(key.type)} user certificate`);
    expect(shown).toContain(`SHA256:${createHash('sha256').update(key.blob).digest('base64').replace('=', '')}`);
    expect(shown).toMatch(/Serial: 17\n/);
  });
});

it.each(['ssh-dss', 'constructor', 'ssh-ed25519-cert-v01@openssh.com'])('keys of type %s are not certified', (type) => {
  expect(certificateTypeOf(type)).toBeUndefined();
});

const spkiOf = (key: KeyObject) => key.export({ format: 'der', type: 'spki' });
const ec = (namedCurve: string) => spkiOf(generateKeyPairSync('ec', { namedCurve }).publicKey);
const rsa = (modulusLength: number) => spkiOf(generateKeyPairSync('rsa', { modulusLength }).publicKey);

it('the CA key determines its signature algorithm', () => {
  expect(signingOf(ec('prime256v1'))).toMatchObject({
    type: 'ec-p256',
    algorithm: 'sha256',
    name: 'ecdsa-sha2-nistp256',
  });
  expect(signingOf(ec('secp384r1'))).toMatchObject({
    type: 'ec-p384',
    algorithm: 'sha384',
    name: 'ecdsa-sha2-nistp384',
  });
  expect(signingOf(rsa(3072))).toMatchObject({ type: 'rsa-3072', algorithm: 'sha512', name: 'rsa-sha2-512' });
  expect(() => signingOf(ec('secp521r1'))).toThrow(/no authority/);
  expect(() => signingOf(rsa(2048))).toThrow(/no authority/);
});

it('signatures use the SSH encoding: two integers for ECDSA, the value for RSA', () => {
  const half = Buffer.alloc(48, 0xff);
  const reader = new WireReader(sshSignature(signingOf(ec('secp384r1')).name, Buffer.concat([half, half])));
  expect(reader.text()).toBe('ecdsa-sha2-nistp384');
  const inner = new WireReader(reader.string());
  // An mpint whose highest bit is set has a leading zero byte (RFC 4251 section 5).
  expect([inner.string().length, inner.string().length, inner.done]).toEqual([49, 49, true]);
  const value = Buffer.alloc(384, 1);
  const plain = new WireReader(sshSignature(signingOf(rsa(3072)).name, value));
  expect([plain.text(), plain.string().equals(value)]).toEqual(['rsa-sha2-512', true]);
});
