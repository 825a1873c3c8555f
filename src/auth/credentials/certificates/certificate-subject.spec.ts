import 'reflect-metadata';
import { Extension, Name, X509CertificateGenerator } from '@peculiar/x509';
import { webcrypto, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ExpectedSubject, faultOfSubject, hasSubject, type SubjectKind } from './certificate-subject.js';

const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
let keys: webcrypto.CryptoKeyPair;

beforeAll(async () => {
  keys = await webcrypto.subtle.generateKey(ES256, true, ['sign', 'verify']);
});

type Names = readonly (readonly [tag: number, octets: Buffer])[];
const ascii = (text: string) => Buffer.from(text, 'latin1');
const EMAIL = 0x81;
const DNS = 0x82;
const URI = 0x86;
const IP = 0x87;

/** Returns a certificate with the given subject and alternative names, encoded octet by octet. */
async function certificate(name: ConstructorParameters<typeof Name>[0], names: Names = []): Promise<X509Certificate> {
  const general = Buffer.concat(
    names.map(([tag, octets]) => Buffer.concat([Buffer.from([tag, octets.length]), octets])),
  );
  const value = Buffer.concat([Buffer.from([0x30, general.length]), general]);
  const made = await X509CertificateGenerator.createSelfSigned({
    keys,
    name: new Name(name).toJSON(),
    signingAlgorithm: ES256,
    serialNumber: '01',
    extensions: names.length === 0 ? [] : [new Extension('2.5.29.17', false, value)],
  });
  return new X509Certificate(Buffer.from(made.rawData));
}

/** The RDNs in certificate order, which is the reverse of the order in RFC 4514. */
const SUBJECT = [
  { C: ['DE'] },
  { O: [{ utf8String: 'Beispiel, GmbH' }] },
  { OU: [{ utf8String: 'Größe' }] },
  { CN: [{ printableString: 'job' }] },
];

describe('the distinguished name of a certificate', () => {
  it.each([
    ['as OpenSSL prints it by RFC 2253', 'CN=job,OU=Gr\\C3\\B6\\C3\\9Fe,O=Beispiel\\, GmbH,C=DE'],
    ['with its characters as they are', 'CN=job,OU=Größe,O=Beispiel\\, GmbH,C=DE'],
    ['with spaces, and types in lower case', 'cn = job, ou=Größe , o=Beispiel\\2c GmbH, c=DE'],
    // OpenBanking Brasil 178: the same name with types as object identifiers.
    ['with types as object identifiers', '2.5.4.3=job,2.5.4.11=Größe,2.5.4.10=Beispiel\\, GmbH,2.5.4.6=DE'],
    ['with a value in DER', 'CN=#0c036a6f62,OU=Größe,O=Beispiel\\, GmbH,C=DE'],
  ])('matches when it is written %s', async (_how, value) => {
    expect(hasSubject(await certificate(SUBJECT), { kind: 'subject_dn', value })).toBe(true);
  });

  it.each([
    ['in the order of the certificate', 'C=DE,O=Beispiel\\, GmbH,OU=Größe,CN=job'],
    ['without one of its parts', 'CN=job,OU=Größe,O=Beispiel\\, GmbH'],
    ['with one more', 'CN=job,OU=Größe,O=Beispiel\\, GmbH,C=DE,DC=example'],
    ['with parts joined into one', 'CN=job+OU=Größe,O=Beispiel\\, GmbH,C=DE'],
    ['in other letters', 'CN=JOB,OU=Größe,O=Beispiel\\, GmbH,C=DE'],
    ['with a letter that only looks alike', 'CN=jоb,OU=Größe,O=Beispiel\\, GmbH,C=DE'],
    ['decomposed (NFD)', 'CN=job,OU=Gro\u0308ße,O=Beispiel\\, GmbH,C=DE'],
    ['with a space that is part of the value', 'CN=job\\ ,OU=Größe,O=Beispiel\\, GmbH,C=DE'],
  ])('does not match when it is written %s', async (_how, value) => {
    expect(faultOfSubject({ kind: 'subject_dn', value })).toBeUndefined();
    expect(hasSubject(await certificate(SUBJECT), { kind: 'subject_dn', value })).toBe(false);
  });

  // NATS 1732: multi-valued RDNs.
  it('matches the attributes of a multi-valued RDN in any order', async () => {
    const made = await certificate([{ DC: ['org'] }, { CN: ['job'], O: ['users'] }]);
    for (const value of ['CN=job+O=users,DC=org', 'O=users+CN=job,DC=org'])
      expect(hasSubject(made, { kind: 'subject_dn', value })).toBe(true);
    expect(hasSubject(made, { kind: 'subject_dn', value: 'CN=job,O=users,DC=org' })).toBe(false);
  });

  // OpenBanking Brasil: attributes without a short name in RFC 4514.
  it('may contain registration attributes', async () => {
    const made = await certificate([
      { '1.3.6.1.4.1.311.60.2.1.3': ['BR'] },
      { '2.5.4.15': ['Private Organization'] },
      { '2.5.4.5': ['43142666000197'] },
    ]);
    const value = 'serialNumber=43142666000197,businessCategory=Private Organization,jurisdictionCountryName=BR';
    expect(hasSubject(made, { kind: 'subject_dn', value })).toBe(true);
  });

  it('is not truncated at a NUL, which is an ordinary character', async () => {
    const made = await certificate([{ CN: [{ utf8String: 'job\0.example.org' }] }]);
    expect(hasSubject(made, { kind: 'subject_dn', value: 'CN=job' })).toBe(false);
    expect(hasSubject(made, { kind: 'subject_dn', value: 'CN=job\\00.example.org' })).toBe(true);
  });
});

describe('an alternative name of a certificate', () => {
  const V4 = Buffer.from([192, 0, 2, 1]);
  const V6 = Buffer.from('20010db8000000000000000000000001', 'hex');
  it.each<[string, Names, ExpectedSubject]>([
    [
      'one of several',
      [
        [DNS, ascii('other.example.com')],
        [DNS, ascii('job.example.com')],
      ],
      { kind: 'san_dns', value: 'job.example.com' },
    ],
    ['a host name in other letters', [[DNS, ascii('JOB.example.com')]], { kind: 'san_dns', value: 'job.Example.com' }],
    [
      'a SPIFFE ID',
      [[URI, ascii('spiffe://example.org/ns/ci/sa/job')]],
      { kind: 'san_uri', value: 'spiffe://example.org/ns/ci/sa/job' },
    ],
    ['an IPv4 address', [[IP, V4]], { kind: 'san_ip', value: '192.0.2.1' }],
    ['an IPv6 address in any spelling', [[IP, V6]], { kind: 'san_ip', value: '2001:DB8:0::1' }],
    [
      'an address of e-mail, its domain in other letters',
      [[EMAIL, ascii('job@Example.com')]],
      { kind: 'san_email', value: 'job@example.COM' },
    ],
  ])('matches: %s', async (_what, names, expected) => {
    expect(hasSubject(await certificate('CN=x', names), expected)).toBe(true);
  });

  const dns = { kind: 'san_dns', value: 'job.example.com' } as const;
  it.each<[string, Names, ExpectedSubject]>([
    ['a wildcard above it', [[DNS, ascii('*.example.com')]], dns],
    ['a name below it', [[DNS, ascii('evil.job.example.com')]], dns],
    ['a name that only begins like it', [[DNS, ascii('job.example.com.evil.example')]], dns],
    ['a name with a NUL behind it', [[DNS, ascii('job.example.com\0.evil.example')]], dns],
    ['a name with a dot at its end', [[DNS, ascii('job.example.com.')]], dns],
    ['a name with a letter that only looks alike', [[DNS, Buffer.from('jоb.example.com')]], dns],
    ['its common name', [], { kind: 'san_dns', value: 'x' }],
    ['the same text as URI', [[URI, ascii('job.example.com')]], dns],
    ['the same text as address of e-mail', [[EMAIL, ascii('job.example.com')]], dns],
    [
      'a URI with another case in its path',
      [[URI, ascii('spiffe://example.org/Job')]],
      { kind: 'san_uri', value: 'spiffe://example.org/job' },
    ],
    [
      'a URI with a slash more',
      [[URI, ascii('spiffe://example.org/job/')]],
      { kind: 'san_uri', value: 'spiffe://example.org/job' },
    ],
    ['an address as text of a host name', [[DNS, ascii('192.0.2.1')]], { kind: 'san_ip', value: '192.0.2.1' }],
    ['an address in text form', [[IP, ascii('192.0.2.1')]], { kind: 'san_ip', value: '192.0.2.1' }],
    [
      'a network around it',
      [[IP, Buffer.from([192, 0, 2, 1, 255, 255, 255, 0])]],
      { kind: 'san_ip', value: '192.0.2.1' },
    ],
    [
      'IPv4 in IPv6',
      [[IP, Buffer.concat([Buffer.from('00000000000000000000ffff', 'hex'), V4])]],
      { kind: 'san_ip', value: '192.0.2.1' },
    ],
    ['nothing for an address', [[IP, Buffer.alloc(0)]], { kind: 'san_ip', value: '192.0.2.1' }],
    [
      'e-mail to somebody in other letters',
      [[EMAIL, ascii('Job@example.com')]],
      { kind: 'san_email', value: 'job@example.com' },
    ],
  ])('does not match: %s', async (_what, names, expected) => {
    expect(hasSubject(await certificate('CN=x', names), expected)).toBe(false);
  });
});

describe('an impossible certificate subject is rejected', () => {
  it.each<[SubjectKind, string, RegExp]>([
    // jsrsasign 428: the default format of earlier OpenSSL versions.
    ['subject_dn', '/C=GB/O=Example/CN=job', /RFC2253/],
    ['subject_dn', '', /attribute type followed by = is missing/],
    ['subject_dn', 'job', /attribute type followed by = is missing/],
    ['subject_dn', 'CN=', /empty/],
    ['subject_dn', 'CN=a;OU=b', /backslash/],
    ['subject_dn', 'CN="a, b"', /backslash/],
    ['subject_dn', 'CN=a,', /attribute type followed by = is missing/],
    ['subject_dn', 'CN=a\\', /backslash/],
    ['subject_dn', 'Colour=red', /object identifier/],
    ['subject_dn', 'CN=#zz', /hexadecimal/],
    ['subject_dn', 'CN=\\ff', /UTF-8/],
    ['san_dns', '*.example.com', /wildcard/],
    ['san_dns', 'job.example.com.', /dot/],
    ['san_dns', 'größe.example.com', /ASCII/],
    ['san_dns', '192.0.2.1', /san_ip/],
    ['san_dns', `${'a'.repeat(64)}.example.com`, /host name/],
    ['san_uri', 'example.com/job', /scheme/],
    ['san_uri', 'https://example.com/a b', /ASCII/],
    ['san_ip', '192.0.2.0/24', /address/],
    ['san_ip', '192.0.2.010', /address/],
    ['san_ip', '0x7f000001', /address/],
    ['san_email', 'job', /email/],
    ['san_email', 'a@b@example.com', /email/],
  ])('%s %s', (kind, value, reason) => {
    expect(faultOfSubject({ kind, value })).toMatch(reason);
  });
});
