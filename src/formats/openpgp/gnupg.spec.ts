import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { elementsOfSequence, unsignedOf } from '../asn1/der-reader.js';
import { armored } from './armor.js';
import { certificate, certificationOf, revocationOf, type SelfStatement } from './certificate.js';
import { canonicalCleartext, cleartextMessage } from './cleartext.js';
import { openPgpFingerprintOf, keyBody, pgpAlgorithmOf, pgpSeconds } from './key-packet.js';
import { issuerSubpacket, PGP_SIGNATURE, type PgpHash, signaturePacket, subpacket, trailerOf, writeHashedPart } from './signature-packet.js'; // prettier-ignore
import { PGP_SUBPACKET } from './signatures.js';

const HAS_GPG = spawnSync('gpg', ['--version']).status === 0;
const home = mkdtempSync(join(tmpdir(), 'sealwright-gnupg-'));
afterAll(() => {
  spawnSync('gpgconf', ['--homedir', home, '--kill', 'all']);
  rmSync(home, { recursive: true, force: true });
});

const KINDS: [string, PgpHash, () => { publicKey: KeyObject; privateKey: KeyObject }][] = [
  ['RSA-2048', 'sha256', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
  ['P-256', 'sha256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ['P-384', 'sha384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' })],
  ['P-521', 'sha512', () => generateKeyPairSync('ec', { namedCurve: 'P-521' })],
];
const USER = 'Example releases <releases@example.org>';

/** Runs GnuPG with a separate home directory. */
function gpg(args: string[], input: Buffer | string): { ok: boolean; text: string } {
  const options = ['--homedir', home, '--batch', '--status-fd', '1', '--trust-model', 'always'];
  const { status, stdout, stderr } = spawnSync('gpg', [...options, ...args], { input });
  return { ok: status === 0, text: `${stdout.toString()}${stderr.toString()}` };
}

/** DigestInfo prefixes (RFC 8017 section 9.2), with which OpenSSL signs a digest in the same way as the HSM. */
const DIGEST_INFO: Record<PgpHash, string> = {
  sha256: '3031300d060960864801650304020105000420',
  sha384: '3041300d060960864801650304020205000430',
  sha512: '3051300d060960864801650304020305000440',
};

describe.skipIf(!HAS_GPG).each(KINDS)('GnuPG with a %s key', (kind, hash, generate) => {
  const pair = generate();
  const key = {
    publicKey: pair.publicKey.export({ type: 'spki', format: 'der' }),
    madeAt: new Date(Date.now() - 60_000),
  };
  const fingerprint = openPgpFingerprintOf(keyBody(key)).toString('hex').toUpperCase();
  const file = join(home, `${fingerprint}.txt`);

  /** Creates the signature packet as the service does, with OpenSSL in place of the HSM. */
  function packetOf({ hashedPart, digest }: SelfStatement): Buffer {
    const pem = join(home, 'key.pem');
    writeFileSync(pem, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const isRsa = pair.publicKey.asymmetricKeyType === 'rsa';
    const input = isRsa ? Buffer.concat([Buffer.from(DIGEST_INFO[hash], 'hex'), digest]) : digest;
    const made = execFileSync('openssl', ['pkeyutl', '-sign', '-inkey', pem], { input });
    return signaturePacket(hashedPart, { digest, signature: isRsa ? made : sideBySide(made) });
  }

  /** Returns r and s of a DER signature, each padded to the length of the curve order. */
  function sideBySide(der: Buffer): Buffer {
    const bytes = Math.ceil(Number(kind.slice(2)) / 8);
    const numbers = elementsOfSequence(der).map(unsignedOf);
    return Buffer.concat(numbers.map((number) => Buffer.concat([Buffer.alloc(bytes - number.length), number])));
  }

  function documentOf(hashed: Buffer, type: number): SelfStatement {
    const subpackets = [
      issuerSubpacket(Buffer.from(fingerprint, 'hex')),
      subpacket(PGP_SUBPACKET.created, pgpSeconds(new Date())),
    ];
    const hashedPart = writeHashedPart({ type, algorithm: pgpAlgorithmOf(key.publicKey), hash, subpackets });
    return { hashedPart, digest: createHash(hash).update(hashed).update(trailerOf(hashedPart)).digest() };
  }

  const certification = (expiresAt?: Date) =>
    packetOf(certificationOf(key, { userId: USER, at: new Date(), expiresAt, primary: true, hash }));

  it('imports the certificate with its fingerprint and expiry', () => {
    const expiresAt = new Date(Date.now() + 86_400_000);
    const bytes = certificate(key, [], [{ userId: USER, certifications: [certification(expiresAt)] }]);
    expect(gpg(['--import'], armored('PUBLIC KEY BLOCK', bytes))).toMatchObject({ ok: true });
    const { text } = gpg(['--with-colons', '--check-sigs', fingerprint], '');
    expect(text).toContain(`:${pgpSeconds(expiresAt)}:`);
    expect(text).toMatch(/^sig:!:.*:13x:/m);
  });

  it('verifies a document, and rejects a different one', () => {
    writeFileSync(file, 'a document');
    const packet = packetOf(documentOf(Buffer.from('a document'), PGP_SIGNATURE.binary));
    expect(gpg(['--verify', '-', file], armored('SIGNATURE', packet)).text).toContain(`VALIDSIG ${fingerprint}`);
    expect(gpg(['--verify', '-', file], packet).ok).toBe(true);
    writeFileSync(file, 'A document');
    expect(gpg(['--verify', '-', file], packet).text).toContain('BADSIG');
  });

  it('verifies clear-signed text', () => {
    const text = Buffer.from('- a text \t\n\nFrom somewhere\n');
    const packet = packetOf(documentOf(canonicalCleartext(text), PGP_SIGNATURE.text));
    const message = Buffer.concat([cleartextMessage(text, hash), Buffer.from(armored('SIGNATURE', packet))]);
    expect(gpg(['--verify'], message)).toMatchObject({ ok: true });
  });

  it('shows a revoked key as revoked', () => {
    const revocation = packetOf(revocationOf(key, { at: new Date(), reason: 'superseded', text: 'A new one.', hash }));
    const bytes = certificate(key, [revocation], [{ userId: USER, certifications: [certification()] }]);
    expect(gpg(['--import'], bytes).ok).toBe(true);
    expect(gpg(['--with-colons', '--list-keys', fingerprint], '').text).toMatch(/^pub:r:/m);
  });
});
