import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BufferWindow } from '../model/der.js';
import { privateKeyFacts, traditionalKeyFacts } from './private-key-header.js';

const ec = (namedCurve: string, paramEncoding: 'named' | 'explicit', type: 'pkcs8' | 'sec1') =>
  new BufferWindow(
    generateKeyPairSync('ec', { namedCurve, paramEncoding }).privateKey.export({
      format: 'der',
      type,
    } as never) as never,
  );

describe('the curve of a private key', () => {
  it.each([
    ['prime256v1', 'EC-secp256r1', 256],
    ['secp256k1', 'EC-secp256k1', 256],
  ])('%s is identified by name, and the public key is included', (curve, name, bits) => {
    const facts = privateKeyFacts(ec(curve, 'named', 'pkcs8'));
    expect(facts).toMatchObject({ algorithm: { name }, bits, fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it.each([
    ['prime256v1', 256],
    ['secp521r1', 521],
    ['sect283k1', 283],
  ])('%s in explicit parameters has the size of its field', (curve, bits) => {
    const expected = { algorithm: { name: `EC-${bits}` }, bits };
    expect(privateKeyFacts(ec(curve, 'explicit', 'pkcs8'))).toMatchObject(expected);
    expect(traditionalKeyFacts('EC', ec(curve, 'explicit', 'sec1'))).toMatchObject(expected);
  });

  it('that is only given by identifier has no size', () => {
    const facts = privateKeyFacts(ec('brainpoolP384r1', 'named', 'pkcs8'));
    expect(facts).toEqual({
      algorithm: expect.objectContaining({ name: 'EC-1.3.36.3.3.2.8.1.1.11' }),
      bits: undefined,
    });
    expect(privateKeyFacts(ec('SM2', 'named', 'pkcs8')).bits).toBeUndefined();
  });
});
