import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readPublicKeyBlob, readHostKeyLine } from '../../src/hosts/host-keys/public-key-blob.js';
import { readKnownHosts } from '../../src/hosts/import/known-hosts.js';
import { ImportBudget } from '../../src/hosts/import/import-result.js';
import { readSshPublicKey, sshKeyLine } from '../../src/inventory/intake/key-files/ssh-public-key.js';
import { readLines } from '../../src/platform/ssh/authorized-keys-file.js';
import { factsOfBlob } from '../../src/client/sensor/model/ssh-blob.js';
import { certifiedKeyTypeOf, isSshCertificateType } from '../../src/formats/ssh/certificate-type.js';
import { readCertificateLine, readSshCertificate } from '../../src/formats/ssh/certificate-reader.js';
import { newEd25519Pair } from '../../src/formats/ssh/key-pair.js';
import {
  publicKeyFault,
  publicKeyOfBlob,
  readPublicKeyLine,
  sshFingerprintOf,
} from '../../src/formats/ssh/public-key.js';
import { wireString, wireUint32, wireUint64 } from '../../src/formats/ssh/wire.js';

/** Certificate types that this version cannot parse. */
const UNKNOWN = [
  'ssh-mldsa44-ed25519-cert-v01@openssh.com',
  'ssh-ed25519-cert-v02@openssh.com',
  'ssh-slhdsa-cert-v01@example.org',
  'rsa-sha2-512-cert-v01@openssh.com',
  'x509v3-ecdsa-sha2-nistp256',
  'pgp-sign-rsa',
];
const KNOWN = ['ssh-ed25519-cert-v01@openssh.com', 'sk-ssh-ed25519-cert-v01@openssh.com'];
const PLAIN = [
  'ssh-ed25519',
  'ssh-rsa',
  'ecdsa-sha2-nistp521',
  'sk-ecdsa-sha2-nistp256@openssh.com',
  'ssh-mldsa44-ed25519@openssh.com',
];
/** Returns bytes that consist only of strings, like a plain key, so that only the type name identifies a certificate. */
const blobOf = (type: string) => Buffer.concat([type, 'nonce'.repeat(8), 'k'.repeat(32)].map(wireString));
const lineOf = (type: string) => `${type} ${blobOf(type).toString('base64')}`;

it.each([...UNKNOWN, ...KNOWN])('%s is a certificate type', (type) => {
  expect(isSshCertificateType(type)).toBe(true);
});

it.each(PLAIN)('%s is a key type', (type) => {
  expect(isSshCertificateType(type)).toBe(false);
  expect(certifiedKeyTypeOf(type)).toBeUndefined();
});

describe.each(UNKNOWN)('a certificate of the unknown type %s is not read as a public key', (type) => {
  it('in .pub files, and the error names it as a certificate', () => {
    expect(readPublicKeyLine(lineOf(type))).toBeUndefined();
    expect(publicKeyFault(lineOf(type))).toMatch(/^is a certificate/);
    expect(readCertificateLine(lineOf(type))).toBeUndefined();
  });

  it('in authorized_keys, with or without options', () => {
    const file = `no-pty ${lineOf(type)}\n${lineOf(type)} ann\ncert-authority ${lineOf(type)}\n`;
    expect(readLines(Buffer.from(file)).flatMap(({ key }) => key ?? [])).toEqual([]);
  });

  it('in known_hosts and host keys', () => {
    expect(readHostKeyLine(lineOf(type))).toBeUndefined();
    expect(readPublicKeyBlob(blobOf(type))).toBeUndefined();
    const items = readKnownHosts(`host.example ${lineOf(type)}`, new ImportBudget());
    expect(items).toMatchObject([{ keys: [], faults: [{ detail: expect.any(String) }] }]);
  });

  it('from a server, in the inventory, or by a sensor', () => {
    expect(() => publicKeyOfBlob(blobOf(type))).toThrow(RangeError);
    expect(() => readSshPublicKey(blobOf(type), '')).toThrow(RangeError);
    expect(factsOfBlob(blobOf(type))).toEqual({});
    expect(sshKeyLine(lineOf(type))?.comment ?? '').toBe('');
  });
});

it('the inventory identifies a certified key by its own fingerprint, not that of the certificate', () => {
  const { publicKey } = newEd25519Pair('');
  const own = publicKey.blob.subarray(wireString('ssh-ed25519').length);
  const certificate = Buffer.concat([wireString('ssh-ed25519-cert-v01@openssh.com'), wireString('nonce'), own]);
  expect(readSshPublicKey(certificate, '').sshFingerprint).toBe(sshFingerprintOf(publicKey.blob));
});

const CERTIFICATE = 'ssh-ed25519-cert-v01@openssh.com';
const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;
/** Returns the raw Ed25519 public key. */
const pointOf = (key: KeyObject): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-32);
const plainBlob = (key: KeyObject): Buffer => Buffer.concat([wireString('ssh-ed25519'), wireString(pointOf(key))]);

interface Forged {
  readonly type?: string;
  /** Replaces the bytes of the certified key. */
  readonly point?: Buffer;
  /** Replaces the authority's key. */
  readonly authority?: Buffer;
}

/** Returns a host certificate with a valid signature by `signer`, which may differ from the authority named in the certificate. */
function certificateBy(
  signer: KeyObject,
  { type = CERTIFICATE, point = randomBytes(32), authority = plainBlob(signer) }: Forged = {},
): Buffer {
  const numbers = [
    wireUint64(1n),
    wireUint32(2),
    wireString('web'),
    wireString(wireString('web.example')),
    wireUint64(1n),
    wireUint64(4_000_000_000n),
  ];
  const rest = ['', '', '', authority].map((part) => wireString(part));
  const signed = Buffer.concat([wireString(type), wireString(randomBytes(32)), wireString(point), ...numbers, ...rest]);
  const signature = Buffer.concat([wireString('ssh-ed25519'), wireString(sign(null, signed, signer))]);
  return Buffer.concat([signed, wireString(signature)]);
}

describe('a certificate inside a certificate grants no access (like CVE-2025-49825)', () => {
  const [authority, attacker] = [newKey(), newKey()];
  const issued = certificateBy(authority, { point: pointOf(attacker) });

  it('while a plain certificate is read, which validates the following cases', () => {
    expect(readSshCertificate(issued)?.authority).toBe(sshFingerprintOf(plainBlob(authority)));
  });

  it.each<[string, Buffer]>([
    ['the authority is a certificate by the trusted one', certificateBy(attacker, { authority: issued })],
    [
      'the authority is a certificate of the trusted key',
      certificateBy(attacker, { authority: certificateBy(attacker, { point: pointOf(authority) }) }),
    ],
    [
      'the authority is the trusted key, and another signed',
      certificateBy(attacker, { authority: plainBlob(authority) }),
    ],
    ['the certified key is a certificate', certificateBy(authority, { point: issued })],
    [
      'the type is that of a certificate of a certificate',
      certificateBy(authority, { type: `${CERTIFICATE}-cert-v01@openssh.com` }),
    ],
  ])('if %s', (_, blob) => {
    expect(readSshCertificate(blob)).toBeUndefined();
    expect(readHostKeyLine(`${CERTIFICATE} ${blob.toString('base64')}`)).toBeUndefined();
  });

  it('nor does a certificate in place of a CA key, or of a key to be certified', () => {
    const line = `${CERTIFICATE} ${issued.toString('base64')}`;
    expect(readHostKeyLine(line)).toBeUndefined();
    expect(readPublicKeyLine(line)).toBeUndefined();
    const disguised = Buffer.concat([wireString('ssh-ed25519'), wireString(issued)]);
    expect(readPublicKeyLine(`ssh-ed25519 ${disguised.toString('base64')}`)).toBeUndefined();
  });
});
