import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { createHash, KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { Problem } from '../../../platform/errors/problem.js';
import { acceptedPath } from './certificate-path.js';
import { type CertificateRegistration, ruleFactsOf, methodOf, ruleOf } from './certificate-rule.js';

const NOW = new Date('2026-11-27T12:00:00Z');
const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

interface Made {
  readonly pem: string;
  readonly raw: Buffer;
  readonly sha256: string;
  readonly keys: webcrypto.CryptoKeyPair;
}

async function make(
  name: string,
  extensions: Extension[] = [],
  days = 1,
  by?: { name: string; of: Made },
): Promise<Made> {
  const keys = await webcrypto.subtle.generateKey(ES256, true, ['sign', 'verify']);
  const made = await X509CertificateGenerator.create({
    issuer: by?.name ?? name,
    subject: name,
    signingKey: (by?.of.keys ?? keys).privateKey,
    publicKey: keys.publicKey,
    signingAlgorithm: ES256,
    serialNumber: '01',
    notBefore: new Date('2026-11-20T00:00:00Z'),
    notAfter: new Date(NOW.getTime() + days * 24 * 3600 * 1000),
    extensions,
  });
  const { raw } = new X509Certificate(Buffer.from(made.rawData));
  return { pem: made.toString('pem'), raw, sha256: createHash('sha256').update(raw).digest('base64url'), keys };
}

const authority = () => [new BasicConstraintsExtension(true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)];
let root: Made;
let own: Made;
let other: Made;
let expired: Made;

beforeAll(async () => {
  [root, own, other, expired] = await Promise.all([
    make('CN=Root', authority()),
    make('C=DE, CN=job'),
    make('CN=other'),
    make('CN=job', [], -1),
  ]);
});

const rule = (order: Partial<CertificateRegistration>) => ruleOf({ subjects: {}, ...order }, NOW);
const keyOf = ({ raw }: Made) => new X509Certificate(raw).publicKey.export({ format: 'jwk' });
const withCertificate = (key: object, { raw }: Made) => ({ keys: [{ ...key, x5c: [raw.toString('base64')] }] });
const shown = ({ raw, sha256 }: Made, chain: readonly Buffer[] = []) => ({ raw, thumbprint: sha256, chain });

describe('a certificate registration', () => {
  it('accepts client certificates as PEM, as base64 DER, and several in one text, without duplicates', () => {
    const read = rule({ certificates: [own.pem + other.pem, own.raw.toString('base64')] });
    expect(methodOf(read)).toBe('self_signed_tls_client_auth');
    expect(ruleFactsOf(read)).toEqual({ certificates: [own.sha256, other.sha256] });
    expect(read).toMatchObject({
      certificates: [{ subject: 'CN=job,C=DE', notAfter: '2026-11-28T12:00:00.000Z' }, {}],
    });
  });

  it('accepts certificates from the x5c of a JWK Set', () => {
    expect(ruleFactsOf(rule({ jwks: withCertificate(keyOf(own), own) }))).toEqual({ certificates: [own.sha256] });
  });

  it('accepts CAs with one subject', () => {
    const read = rule({ trustAnchors: [root.pem], subjects: { san_dns: 'job.example.com' } });
    expect(methodOf(read)).toBe('tls_client_auth');
    expect(ruleFactsOf(read)).toEqual({ trustAnchors: [root.sha256], intermediates: [], tls_client_auth_san_dns: 'job.example.com' }); // prettier-ignore
  });
});

describe('a certificate registration is rejected with a pointer to the fault', () => {
  const subjects = { san_dns: 'job.example.com' };
  it.each<[string, string, () => Partial<CertificateRegistration>]>([
    ['with nothing', '/certificates', () => ({})],
    ['with text that is none', '/certificates/1', () => ({ certificates: [own.pem, 'x'] })],
    ['with text around it', '/certificates/0', () => ({ certificates: [`x\n${own.pem}`] })],
    [
      'with a private key',
      '/certificates/0',
      () => ({
        certificates: [
          own.pem + KeyObject.from(own.keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
        ],
      }),
    ],
    ['with an expired one', '/certificates/0', () => ({ certificates: [expired.pem] })],
    ['with one in two ways', '/certificates', () => ({ certificates: [own.pem], jwks: { keys: [] } })],
    ['with keys without certificates', '/jwks/keys/0', () => ({ jwks: { keys: [keyOf(own)] } })],
    ['with the certificate of another key', '/jwks/keys/0', () => ({ jwks: withCertificate(keyOf(own), other) })],
    ['with null for a key', '/jwks/keys/0', () => ({ jwks: { keys: [null] } })],
    ['with a key that is private', '/jwks', () => ({ jwks: { keys: [{ ...keyOf(own), d: 'AA' }] } })],
    ['with an empty set', '/certificates', () => ({ jwks: { keys: [] } })],
    ['with no list of keys', '/jwks', () => ({ jwks: {} })],
    ['with an anchor that is no authority', '/trustAnchors/0', () => ({ trustAnchors: [own.pem], subjects })],
    [
      'with an intermediate that is none',
      '/intermediates/0',
      () => ({ trustAnchors: [root.pem], intermediates: [own.pem], subjects }),
    ],
    ['with a subject and no anchor', '/trustAnchors', () => ({ subjects })],
    ['with an anchor and no subject', '/tls_client_auth_subject_dn', () => ({ trustAnchors: [root.pem] })],
    [
      'with two subjects',
      '/tls_client_auth_san_ip',
      () => ({ trustAnchors: [root.pem], subjects: { ...subjects, san_ip: '192.0.2.1' } }),
    ],
    [
      'with a subject that cannot be',
      '/tls_client_auth_san_dns',
      () => ({ trustAnchors: [root.pem], subjects: { san_dns: '*.example.com' } }),
    ],
    [
      'with anchors and its own certificate',
      '/certificates',
      () => ({ trustAnchors: [root.pem], certificates: [own.pem], subjects }),
    ],
  ])('%s: %s', (_what, pointer, order) => {
    let caught: unknown;
    try {
      rule(order());
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(Problem);
    expect(caught).toMatchObject({ code: 'oauth-client.certificates', errors: [{ pointer }] });
  });
});

describe('a client certificate is accepted', () => {
  it('if it is registered, but not after it has expired', () => {
    const registered = rule({ certificates: [own.pem] });
    expect(acceptedPath(registered, shown(own), NOW)).toHaveLength(1);
    expect(() => acceptedPath(registered, shown(own), new Date('2026-11-28T12:00:01Z'))).toThrow(/expired/);
    expect(() => acceptedPath(registered, shown(own), new Date('2026-11-19T00:00:00Z'))).toThrow(/not valid yet/);
  });

  // Vault 3051: a certificate from the same authority, or with the same name, is not the registered certificate.
  it('but not if it only shares the name of the registered one', async () => {
    const namesake = await make('C=DE, CN=job');
    expect(() => acceptedPath(rule({ certificates: [own.pem] }), shown(namesake), NOW)).toThrow(/not registered/);
  });

  // Spring Authorization Server 2332: a proxy passes only the client's certificate, without intermediate certificates.
  it('through an uploaded intermediate certificate, or one sent along with it', async () => {
    const between = await make('CN=Between', authority(), 1, { name: 'CN=Root', of: root });
    const job = await make('CN=job', [], 1, { name: 'CN=Between', of: between });
    const order = { trustAnchors: [root.pem], subjects: { subject_dn: 'CN=job' } };
    const uploaded = rule({ ...order, intermediates: [between.pem] });
    expect(acceptedPath(uploaded, shown(job), NOW)).toHaveLength(3);
    expect(acceptedPath(rule(order), shown(job, [Buffer.from('x'), between.raw]), NOW)).toHaveLength(3);
    expect(() => acceptedPath(rule(order), shown(job), NOW)).toThrow(/does not chain/);
    const renamed = { ...order, intermediates: [between.pem], subjects: { subject_dn: 'CN=other' } };
    expect(() => acceptedPath(rule(renamed), shown(job), NOW)).toThrow(/subject/);
  });
});
