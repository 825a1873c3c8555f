import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, createPublicKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CurveType, derToRaw, rawToDer } from '../../src/hsm/signatures/ecdsa.js';
import { type KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import {
  DIGEST_BYTES,
  type DigestAlgorithm,
  SCHEMES,
  TOKEN_KEY_TYPES,
  type SignatureScheme,
  type VaultKey,
} from '../../src/hsm/key-vault.js';
import { createToken, newKey, openVault } from '../support/hsm.js';

const ALGORITHMS = Object.keys(DIGEST_BYTES) as DigestAlgorithm[];
const PSS = ['-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:digest'];
const CONTENT = Buffer.from('A file that was released.\n'.repeat(1000));

const token = createToken();
const file = join(token.directory, 'release.bin');
const otherFile = join(token.directory, 'tampered.bin');
let vault: KeyProcessVault;

beforeAll(async () => {
  writeFileSync(file, CONTENT);
  writeFileSync(otherFile, Buffer.concat([CONTENT, Buffer.from(' ')]));
  vault = await openVault(token);
});

afterAll(async () => {
  await vault.onApplicationShutdown();
  token.remove();
});

function opensslAccepts(
  of: string,
  signature: Buffer,
  algorithm: DigestAlgorithm,
  key: VaultKey,
  options: string[],
): boolean {
  const pem = join(token.directory, 'key.pem');
  const sig = join(token.directory, 'release.sig');
  const publicKey = createPublicKey({ key: key.publicKey, format: 'der', type: 'spki' });
  writeFileSync(pem, publicKey.export({ format: 'pem', type: 'spki' }));
  writeFileSync(sig, signature);
  const args = ['dgst', `-${algorithm}`, '-verify', pem, '-signature', sig, ...options, of];
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
  if (status !== 0 && status !== 1) throw new Error(`openssl: ${stderr}`);
  return status === 0;
}

describe.each(TOKEN_KEY_TYPES)('%s', (type) => {
  const schemes = SCHEMES.filter((scheme) => scheme.startsWith(type.startsWith('ec-') ? 'ecdsa-' : 'rsa-'));
  const strange = SCHEMES.filter((scheme) => !schemes.includes(scheme));
  let key: VaultKey;

  beforeAll(async () => {
    key = await newKey(vault, type);
  });

  function signFile(scheme: SignatureScheme, algorithm: DigestAlgorithm): Promise<Buffer> {
    return vault.sign({ key, scheme, algorithm, digest: createHash(algorithm).update(CONTENT).digest() });
  }

  it.each(ALGORITHMS.flatMap((algorithm) => schemes.map((scheme) => [scheme, algorithm] as const)))(
    '%s over %s: openssl dgst -verify accepts this file only',
    async (scheme, algorithm) => {
      const signature = await signFile(scheme, algorithm);
      const forOpenssl = scheme === 'ecdsa-raw' ? rawToDer(signature) : signature;
      const options = scheme === 'rsa-pss' ? PSS : [];
      expect(opensslAccepts(file, forOpenssl, algorithm, key, options)).toBe(true);
      expect(opensslAccepts(otherFile, forOpenssl, algorithm, key, options)).toBe(false);
    },
  );

  it.each(strange)('rejects %s, which is for another key type', async (scheme) => {
    await expect(signFile(scheme, 'sha256')).rejects.toMatchObject({ kind: 'conflict', code: 'hsm.refused' });
  });

  it('rejects a digest with the wrong length for its algorithm', async () => {
    const [scheme] = schemes;
    if (!scheme) throw new Error('no scheme');
    const order = { key, scheme, algorithm: 'sha384', digest: Buffer.alloc(32) } as const;
    await expect(vault.sign(order)).rejects.toMatchObject({ kind: 'conflict', code: 'hsm.refused' });
  });
});

it('ecdsa-raw has the fixed length that JWS requires, for any r and s', async () => {
  const key = await newKey(vault, 'ec-p521');
  const digest = createHash('sha512').update(CONTENT).digest();
  const lengths = new Set<number>();
  for (let round = 0; round < 64; round += 1) {
    lengths.add((await vault.sign({ key, scheme: 'ecdsa-raw', algorithm: 'sha512', digest })).length);
    const der = await vault.sign({ key, scheme: 'ecdsa-der', algorithm: 'sha512', digest });
    expect(rawToDer(derToRaw(der, key.type as CurveType))).toEqual(der);
  }
  expect([...lengths]).toEqual([132]);
});

it('the openssl used to verify these signatures is the system binary, not the one in Node', () => {
  expect(execFileSync('openssl', ['version'], { encoding: 'utf8' })).toMatch(/^OpenSSL \d/);
});
