import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readX509Certificate } from './x509-certificate.js';

const CERTIFICATES = join(import.meta.dirname, '../../../../../shared/data/certs');
const TRUTH = join(CERTIFICATES, 'openssl-ground-truth.json');

interface Truth {
  readonly file: string;
  readonly keyAlg: string;
  readonly bits: number | null;
  readonly curve: string | null;
  readonly sigAlg: string;
  readonly notBefore: string;
  readonly notAfter: string;
}

/** Object identifiers by OpenSSL name. */
const OPENSSL: Record<string, string> = {
  rsaEncryption: '1.2.840.113549.1.1.1',
  rsassaPss: '1.2.840.113549.1.1.10',
  'id-ecPublicKey': '1.2.840.10045.2.1',
  dsaEncryption: '1.2.840.10040.4.1',
  ED25519: '1.3.101.112',
  GOST: '1.2.643.7.1.1.1.1',
  md5WithRSAEncryption: '1.2.840.113549.1.1.4',
  sha1WithRSAEncryption: '1.2.840.113549.1.1.5',
  sha256WithRSAEncryption: '1.2.840.113549.1.1.11',
  sha384WithRSAEncryption: '1.2.840.113549.1.1.12',
  sha512WithRSAEncryption: '1.2.840.113549.1.1.13',
  dsaWithSHA1: '1.2.840.10040.4.3',
  dsa_with_SHA256: '2.16.840.1.101.3.4.3.2',
  'ecdsa-with-SHA1': '1.2.840.10045.4.1',
  'ecdsa-with-SHA256': '1.2.840.10045.4.3.2',
  'ecdsa-with-SHA384': '1.2.840.10045.4.3.3',
  'ecdsa-with-SHA512': '1.2.840.10045.4.3.4',
};

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** Converts a time such as `Jan  1 00:00:00 1 GMT`. `Date` does not parse one-digit years. */
function isoTime(text: string): string {
  const [month = '', day = '', time = '', year = ''] = text.split(/ +/);
  const number = String(MONTHS.indexOf(month) / 3 + 1).padStart(2, '0');
  return new Date(`${year.padStart(4, '0')}-${number}-${day.padStart(2, '0')}T${time}Z`).toISOString();
}

function certificateIn(file: string): Buffer {
  const text = readFileSync(join(CERTIFICATES, file), 'latin1');
  const body = /-----BEGIN CERTIFICATE-----([\s\S]+?)-----END/.exec(text)?.[1];
  return Buffer.from(body ?? '', 'base64');
}

describe.skipIf(!existsSync(TRUTH))('public certificates are read as by OpenSSL', () => {
  const rows = existsSync(TRUTH) ? (JSON.parse(readFileSync(TRUTH, 'utf8')) as Truth[]) : [];
  const here = rows.filter(({ file }) => existsSync(join(CERTIFICATES, file)));

  it('with more than 400 samples', () => {
    expect(here.length).toBeGreaterThan(400);
  });

  it.each(here)('$file', ({ file, keyAlg, bits, curve, sigAlg, notBefore, notAfter }) => {
    const read = readX509Certificate(certificateIn(file));
    expect({
      keyAlg: read.key.oid,
      sigAlg: read.signature.oid,
      notBefore: read.notBefore.toISOString(),
      notAfter: read.notAfter.toISOString(),
      // OpenSSL does not print the size of some keys or the name of some curves.
      bits: bits === null ? null : read.key.bits,
      curve: curve === null ? null : read.key.curve,
    }).toEqual({
      keyAlg: OPENSSL[keyAlg] ?? keyAlg,
      sigAlg: OPENSSL[sigAlg] ?? sigAlg,
      notBefore: isoTime(notBefore),
      notAfter: isoTime(notAfter),
      bits,
      curve: curve === 'prime256v1' ? 'secp256r1' : curve,
    });
  });
});
