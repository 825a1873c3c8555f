import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateThumbprint, chainIn } from './client-certificate.js';

let directory: string;
let pem: string;
let der: Buffer;
let thumbprint: string;

/** Creates a certificate with OpenSSL. */
function newCertificate(): string {
  const key = join(directory, 'key.pem');
  const order = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key];
  return execFileSync('openssl', [...order, '-subj', '/CN=job', '-days', '1'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  }).toString();
}

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sw-client-cert-'));
  // Base64 with a plus sign, which form decoding would turn into a space.
  do pem = newCertificate();
  while (!pem.includes('+'));
  der = Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64');
  thumbprint = createHash('sha256').update(der).digest('base64url');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('a client certificate is read from a proxy header', () => {
  it.each<[string, () => string]>([
    ['as RFC 9440 has it', () => `:${der.toString('base64')}:`],
    ['as nginx and Envoy write it: PEM with the escapes of a URL', () => encodeURIComponent(pem)],
    ['with a plus sign that is not escaped', () => encodeURIComponent(pem).replaceAll('%2B', '+')],
    ['with the line ends of Windows', () => encodeURIComponent(pem.replaceAll('\n', '\r\n'))],
    // Traefik 9669: neither percent-encoding nor PEM.
    ['as Traefik writes it: base64 alone', () => der.toString('base64')],
  ])('%s', (_how, header) => {
    expect(certificateThumbprint(header())).toBe(thumbprint);
  });
});

describe('no client certificate is read from', () => {
  it.each<[string, () => string]>([
    ['nothing', () => ''],
    ['an empty byte sequence', () => '::'],
    ['a header that came twice', () => `:${der.toString('base64')}:, :${der.toString('base64')}:`],
    ['two in one PEM', () => encodeURIComponent(pem + pem)],
    ['a chain with commas', () => `${der.toString('base64')},${der.toString('base64')}`],
    ['the DER with bytes behind it', () => `:${Buffer.concat([der, Buffer.from('00', 'hex')]).toString('base64')}:`],
    ['half of the DER', () => `:${der.subarray(0, der.length / 2).toString('base64')}:`],
    ['base64url', () => `:${der.toString('base64url')}:`],
    ['text around the PEM', () => encodeURIComponent(`x\n${pem}`)],
    ['a private key', () => encodeURIComponent(pem.replaceAll('CERTIFICATE', 'PRIVATE KEY'))],
    ['escapes that are none', () => `${encodeURIComponent(pem)}%zz`],
    ['the hash of the certificate', () => thumbprint],
  ])('%s', (_what, header) => {
    expect(certificateThumbprint(header())).toBeUndefined();
  });
});

describe('the client certificate chain is read', () => {
  const sequence = (...ders: readonly Buffer[]) => `:${Buffer.concat(ders).toString('base64')}:`;
  it.each<[string, () => string, number]>([
    ['as RFC 9440 has it, a list', () => `${sequence(der)}, ${sequence(der)},${sequence(der)}`, 3],
    ['as HAProxy writes it, one behind the other', () => sequence(der, der), 2],
    ['as PEM with the escapes of a URL', () => encodeURIComponent(pem + pem), 2],
    ['as none, where there is none', () => '', 0],
    ['as none, where one of them cannot be read', () => `${sequence(der)}, :AAAA:`, 0],
    ['as none, where one of them ends too early', () => sequence(der, der.subarray(0, 100)), 0],
    ['as none, where something stands behind the last', () => sequence(der, Buffer.from('00', 'hex')), 0],
    ['as none, where there are more than eight', () => sequence(...Array.from({ length: 9 }, () => der)), 0],
    ['as none, in another form', () => 'x', 0],
  ])('%s', (_how, header, count) => {
    const chain = chainIn(header());
    expect(chain).toHaveLength(count);
    expect(chain.every((one) => one.equals(der))).toBe(true);
  });
});
