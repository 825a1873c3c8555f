import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sshPublicKeyOf, type SshPublicKey } from '../../formats/ssh/public-key.js';
import { wireString } from '../../formats/ssh/wire.js';
import { certificateLine, certificateTypeOf, toBeSigned } from './ssh-certificate.js';

const directory = mkdtempSync(join(tmpdir(), 'ssh-certificate-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** The public half of a key in a security token (PROTOCOL.u2f). */
function tokenKey(type: string, ...parts: (Buffer | string)[]): SshPublicKey {
  return { type, blob: Buffer.concat([type, ...parts, 'ssh:'].map((part) => wireString(part))) };
}

describe('a certificate for the key of a security token', () => {
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
  ])('$type is one that ssh-keygen reads, signature and all', (key) => {
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

it.each(['ssh-dss', 'constructor', 'ssh-ed25519-cert-v01@openssh.com'])('a key of the type %s gets none', (type) => {
  expect(certificateTypeOf(type)).toBeUndefined();
});
