import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCredentialFile } from '../../src/inventory/intake/key-files/credential-reader.js';
import { DraftRefs } from '../../src/inventory/model/draft-refs.js';
import { bks, pkcs12 } from '../../src/client/sensor/detectors/key-stores.js';

const PASSWORD = 'changeit';
const directory = mkdtempSync(join(tmpdir(), 'sealwright-stores-'));
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
let certificate: X509Certificate;

beforeAll(() => {
  openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key.pem', '-out', 'certificate.pem', '-subj', '/CN=shop'); // prettier-ignore
  certificate = new X509Certificate(readFileSync(join(directory, 'certificate.pem')));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Creates a store with one key and its certificate. */
function storeOf(...options: string[]): Buffer {
  openssl('pkcs12', '-export', '-inkey', 'key.pem', '-in', 'certificate.pem', '-name', 'shop', '-iter', '1000', '-out', 'store.p12', '-passout', `pass:${PASSWORD}`, ...options); // prettier-ignore
  return readFileSync(join(directory, 'store.p12'));
}

function sensed(bytes: Buffer, ...storePasswords: string[]) {
  const findings = pkcs12({ location: 'host:/store.p12', name: 'store.p12', bytes, text: '', storePasswords });
  return {
    certificates: findings.flatMap(({ certificate: der }) => der ?? []),
    names: findings.flatMap(({ component }) => component?.name ?? []),
    keySchemes: findings.flatMap(({ component, uses = [] }) =>
      component?.name === 'shop' ? uses.map(({ name }) => name) : [],
    ),
  };
}

function received(bytes: Buffer): string[] {
  const draft = readCredentialFile(bytes, { source: 'host:/store.p12', password: PASSWORD });
  return [...draft.assets(new DraftRefs())].map(({ component }) => component.name);
}

/** Formats of OpenSSL: the current default, the default before version 3, and an explicitly selected format. */
describe.each([
  ['of today', [], 'PBES2-HMAC-SHA256-AES-256-CBC'],
  ['of before OpenSSL 3: RC2 of 40 bits', ['-legacy'], 'PBEWithSHA1AndDESede'],
  [
    'with Camellia',
    ['-certpbe', 'CAMELLIA-128-CBC', '-keypbe', 'CAMELLIA-128-CBC'],
    'PBES2-HMAC-SHA256-CAMELLIA-128-CBC',
  ],
])('a PKCS #12 store %s', (_, options, keyScheme) => {
  it('yields the same in the sensor and in the service', () => {
    const bytes = storeOf(...options);
    const { certificates, keySchemes } = sensed(bytes, 'another', PASSWORD);
    expect(certificates).toEqual([certificate.raw.toString('base64')]);
    expect(keySchemes).toContain(keyScheme);
    expect(received(bytes)).toEqual(expect.arrayContaining(['shop', keyScheme]));
  });

  it('stays closed in the sensor without its password, and reports its protection', () => {
    const { certificates, names, keySchemes } = sensed(storeOf(...options), 'another');
    expect(certificates).toEqual([]);
    expect(keySchemes).toEqual([keyScheme]);
    expect(names.some((name) => name.startsWith('PBE'))).toBe(true);
  });
});

it('a PKCS #12 store with unencrypted certificates lists them without a password', () => {
  const { certificates, names } = sensed(storeOf('-certpbe', 'NONE', '-nomac'));
  expect(certificates).toHaveLength(1);
  expect(names).toEqual(['shop']);
});

it('a PKCS #12 store that costs a fifth of the budget is opened with the last of four passwords', () => {
  const { certificates } = sensed(storeOf('-iter', '590000'), 'one', 'two', 'three', PASSWORD);
  expect(certificates).toHaveLength(1);
});

it('a PKCS #12 store with trailing data is read', () => {
  const bytes = Buffer.concat([storeOf(), Buffer.from('\r\n')]);
  expect(sensed(bytes, PASSWORD).certificates).toHaveLength(1);
  expect(received(bytes)).toContain('shop');
});

it('a truncated PKCS #12 store yields nothing', () => {
  const bytes = storeOf();
  expect(sensed(bytes.subarray(0, -100), PASSWORD)).toMatchObject({ certificates: [], names: [] });
});

it('a BKS store from Bouncy Castle yields its certificates and the presence of a key', () => {
  // Created by keytool -storetype BKS: a P-256 key pair, a secret key, and the same certificate as trusted.
  const bytes = Buffer.from('AAAAAgAAABQNvqwrMuI6Bt4QRU/xQA0tvs1UrgAABdYBAAJjYQAAAaIhDGOOAAAAAAAFWC41MDkAAAFIMIIBRDCB6qADAgECAgkAgBw7/B13mFYwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAxMLYmtzLmV4YW1wbGUwHhcNMjYxMTI4MDcyNjI0WhcNMjcwMjI2MDcyNjI0WjAWMRQwEgYDVQQDEwtia3MuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPzo4Ag2c1CspSVOBuGat0kb22G2ZQD8K7mK/LiV/Pf3YHdW0zJjKp6aLsc/t1MRL2hGgbkali3CHXluth5P4OOjITAfMB0GA1UdDgQWBBSHAhyLaKUlE1SgT22kr2UbCjaAHDAKBggqhkjOPQQDAgNJADBGAiEAxBXP4rRqL65dS8mlaSuAGzfSBTN32iwWjb8MCE2WC04CIQCXZzJmtwGeiisCGmoY3/DFtqk8uIf5c1iduoi/5fjMSgQABGvDqXkAAAGiIQxOuAAAAAEABVguNTA5AAABSDCCAUQwgeqgAwIBAgIJAIAcO/wdd5hWMAoGCCqGSM49BAMCMBYxFDASBgNVBAMTC2Jrcy5leGFtcGxlMB4XDTI2MTEyODA3MjYyNFoXDTI3MDIyNjA3MjYyNFowFjEUMBIGA1UEAxMLYmtzLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT86OAINnNQrKUlTgbhmrdJG9thtmUA/Cu5ivy4lfz392B3VtMyYyqemi7HP7dTES9oRoG5GpYtwh15brYeT+DjoyEwHzAdBgNVHQ4EFgQUhwIci2ilJRNUoE9tpK9lGwo2gBwwCgYIKoZIzj0EAwIDSQAwRgIhAMQVz+K0ai+uXUvJpWkrgBs30gUzd9osFo2/DAhNlgtOAiEAl2cyZrcBnoorAhpqGN/wxbapPLiH+XNYnbqIv+X4zEoAAAB0AAAAFMWe1gI0S3rbRAg2EsXvMnwWEVmDAAAEATANZmJfZVFTUK9CUEOmpLRSIewcW24sgY1Nqz97BaI30G9UCgUTtKhdo3kVxmfxXGp7qlCVFeOV0+r7RGMPjhrhkFEwq3zBlHo770tCcrieTderzzeBDyUEAANzZWMAAAGiIQxXmAAAAAAAAAA8AAAAFCctc7Q4hlMVAYk/Vxlg+n9fXhCVAAAF81lF+lU7K5Ih2d/XactF8JOGvO7g8elasIaaL4Evgs8dAMLcoJwxiGWVMtuP45vNG6KAzM5Z', 'base64'); // prettier-ignore
  const findings = bks({ location: 'host:/app.bks', name: 'app.bks', bytes, text: '', storePasswords: [] });
  const subjects = findings.flatMap(({ certificate: der }) =>
    der === undefined ? [] : new X509Certificate(Buffer.from(der, 'base64')).subject,
  );
  expect(subjects).toEqual(['CN=bks.example', 'CN=bks.example']);
  expect(findings.flatMap(({ uses = [] }) => uses.map(({ name }) => name))).toEqual(['EC-secp256r1', 'PBEWithSHA1AndDESede']); // prettier-ignore
});
