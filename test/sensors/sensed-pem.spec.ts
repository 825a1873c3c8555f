import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DraftRefs } from '../../src/inventory/model/draft-refs.js';
import { readCredentialFile } from '../../src/inventory/intake/key-files/credential-reader.js';
import { pemDetector } from '../../src/client/sensor/detectors/pem-and-der.js';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PLAIN = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
const openssl = (...args: string[]) => execFileSync('openssl', args, { input: PLAIN }).toString();
const SEALED = ['-passout', 'pass:changeit'];

function sensed(text: string) {
  const file = { location: 'host:/file', name: 'file', bytes: Buffer.from(text), text, storePasswords: [] };
  return pemDetector(file).map(({ place, component, uses = [] }) => ({
    line: place.line,
    name: component?.name,
    uses: uses.map(({ name }) => name),
  }));
}

const received = (text: string) =>
  [...readCredentialFile(Buffer.from(text), { source: 'host:/file', password: undefined }).assets(new DraftRefs())].map(
    ({ component }) => component.name,
  );

describe('a PEM private key', () => {
  const [{ name } = { name: '' }] = sensed(PLAIN);

  it.each([
    ['in a YAML file', PLAIN.replaceAll(/^/gm, '      ').trimEnd(), 1],
    ['in a mail that quotes it', `He wrote:\n${PLAIN.replaceAll(/^/gm, '> ')}`, 2],
    ['in JSON', JSON.stringify({ key: PLAIN }), 1],
    ['behind another that is cut', `${PLAIN.slice(0, 80)}\n${PLAIN}`, 3],
  ])('is found %s', (_, text, line) => {
    expect(sensed(text)).toEqual([{ line, name, uses: ['EC-secp256r1'] }]);
  });

  it('is not found if program code is between BEGIN and END', () => {
    expect(sensed(`a = "-----BEGIN PRIVATE KEY-----"; b = "-----END PRIVATE KEY-----"`)).toEqual([]);
    expect(sensed(`a = "-----BEGIN PRIVATE KEY-----"; b = "-----END CERTIFICATE-----"`)).toEqual([]);
  });

  it.each([
    ['PBES2-scrypt-AES-256-CBC', ['pkcs8', '-topk8', '-scrypt', ...SEALED]],
    ['PBES2-HMAC-SHA256-DES-EDE3-CBC', ['pkcs8', '-topk8', '-v2', 'des3', ...SEALED]],
    [
      'PBES2-HMAC-SHA512-ARIA-128-CBC',
      ['pkcs8', '-topk8', '-v2', 'aria-128-cbc', '-v2prf', 'hmacWithSHA512', ...SEALED],
    ],
    ['PBEWithSHA1AndDESede', ['pkcs8', '-topk8', '-v1', 'PBE-SHA1-3DES', ...SEALED]],
    ['PEM AES-128-CBC', ['ec', '-aes-128-cbc', ...SEALED]],
  ])('encrypted as %s has that name in the sensor and in the service', (scheme, args) => {
    const pem = openssl(...args);
    expect(sensed(pem).flatMap(({ uses }) => uses)).toContain(scheme);
    expect(received(pem)).toContain(scheme);
  });
});
