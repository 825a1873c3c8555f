import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCredentialFile } from '../../src/inventory/certificates/credential-reader.js';
import { DraftRefs } from '../../src/inventory/model/draft-refs.js';
import { pkcs12 } from '../../src/client/sensor/detectors/key-stores.js';

const PASSWORD = 'changeit';
const directory = mkdtempSync(join(tmpdir(), 'sealwright-stores-'));
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
let certificate: X509Certificate;

beforeAll(() => {
  openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key.pem', '-out', 'certificate.pem', '-subj', '/CN=shop'); // prettier-ignore
  certificate = new X509Certificate(readFileSync(join(directory, 'certificate.pem')));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A store of one key with its certificate. */
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

/** What OpenSSL writes now, wrote by default until version 3, and writes when it is asked to. */
describe.each([
  ['of today', [], 'PBES2-HMAC-SHA256-AES-256-CBC'],
  ['of before OpenSSL 3: RC2 of 40 bits', ['-legacy'], 'PBEWithSHA1AndDESede'],
  [
    'with Camellia',
    ['-certpbe', 'CAMELLIA-128-CBC', '-keypbe', 'CAMELLIA-128-CBC'],
    'PBES2-HMAC-SHA256-CAMELLIA-128-CBC',
  ],
])('a PKCS #12 store %s', (_, options, keyScheme) => {
  it('tells the sensor what it tells the service', () => {
    const bytes = storeOf(...options);
    const { certificates, keySchemes } = sensed(bytes, 'another', PASSWORD);
    expect(certificates).toEqual([certificate.raw.toString('base64')]);
    expect(keySchemes).toContain(keyScheme);
    expect(received(bytes)).toEqual(expect.arrayContaining(['shop', keyScheme]));
  });

  it('stays closed to the sensor without its password, and says how it is protected', () => {
    const { certificates, names, keySchemes } = sensed(storeOf(...options), 'another');
    expect(certificates).toEqual([]);
    expect(keySchemes).toEqual([keyScheme]);
    expect(names.some((name) => name.startsWith('PBE'))).toBe(true);
  });
});

it('a PKCS #12 store whose certificates are in the open tells them without a password', () => {
  const { certificates, names } = sensed(storeOf('-certpbe', 'NONE', '-nomac'));
  expect(certificates).toHaveLength(1);
  expect(names).toEqual(['shop']);
});

it('a PKCS #12 store that is cut short tells nothing', () => {
  const bytes = storeOf();
  expect(sensed(bytes.subarray(0, -100), PASSWORD)).toMatchObject({ certificates: [], names: [] });
});
