import { generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signatureIdentifier } from '../formats/algorithm-identifiers.js';
import { isSelfSigned, pathFrom } from './certificate-chain.js';
import { certificateFactsOf } from '../../auth/credentials/certificates/certificate-facts.js';
import { type SelfIssuedCertificate, selfIssuedCertificate, signed } from './certificate-writer.js';

const NOW = new Date('2027-01-01T00:00:00Z');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const contentsFor = ({ publicKey }: typeof rsa, scheme: 'rsa-pkcs1v15' | 'ecdsa-der'): SelfIssuedCertificate => ({
  subject: { commonName: 'Release', organization: 'Example Ltd', country: 'GB' },
  publicKey: publicKey.export({ type: 'spki', format: 'der' }),
  purpose: 'code-signing',
  algorithm: signatureIdentifier(scheme, 'sha256'),
  notBefore: new Date('2026-11-26T10:00:00.750Z'),
  notAfter: new Date('9999-12-31T23:59:59Z'),
});

describe.each([
  ['RSA', rsa, 'rsa-pkcs1v15'],
  ['EC', ec, 'ecdsa-der'],
] as const)('a self-signed certificate of a %s key', (_, pair, scheme) => {
  const contents = contentsFor(pair, scheme);
  const toBeSigned = selfIssuedCertificate(contents);
  const certificate = new X509Certificate(
    signed(toBeSigned, contents.algorithm, sign('sha256', toBeSigned, pair.privateKey)),
  );

  it('verifies with its own key, has equal subject and issuer, and a complete path', () => {
    expect(certificate.verify(pair.publicKey)).toBe(true);
    expect(certificate.issuer).toBe(certificate.subject);
    expect(certificate.subject).toBe('C=GB\nO=Example Ltd\nCN=Release');
    expect(isSelfSigned(certificate)).toBe(true);
    expect(pathFrom(certificate, [], NOW)).toEqual([certificate]);
  });

  it('allows the key purpose, and no certificates below it', () => {
    expect(certificateFactsOf(certificate)).toMatchObject({
      purposes: ['code-signing'],
      isAuthority: false,
      keyUsage: { signs: true, signsCertificates: false, other: false },
    });
  });

  it('has validity in whole seconds, and no expiry unless one was requested', () => {
    expect(new Date(certificate.validFrom)).toEqual(new Date('2026-11-26T10:00:00Z'));
    expect(new Date(certificate.validTo)).toEqual(new Date('9999-12-31T23:59:59Z'));
  });

  it('has the same bytes for the same contents, and another serial number for different contents', () => {
    expect(selfIssuedCertificate(contents)).toEqual(toBeSigned);
    const other = selfIssuedCertificate({ ...contents, subject: { commonName: 'Other' } });
    const serialNumberOf = (tbs: Buffer) =>
      new X509Certificate(signed(tbs, contents.algorithm, sign('sha256', tbs, pair.privateKey))).serialNumber;
    expect(serialNumberOf(other)).not.toBe(certificate.serialNumber);
    expect(certificate.serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
  });
});

it('a certificate with equal names signed by another key is not self-signed', () => {
  const contents = contentsFor(rsa, 'rsa-pkcs1v15');
  const tbs = selfIssuedCertificate(contents);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  expect(isSelfSigned(new X509Certificate(signed(tbs, contents.algorithm, sign('sha256', tbs, privateKey))))).toBe(false); // prettier-ignore
});
