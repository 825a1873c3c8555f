import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { discoverKeys } from './issuer-keys.js';
import { hasSecretKey, readKeySet, thumbprintsOf } from '../credentials/key-sets/key-set.js';
import { keyChange } from '../credentials/key-sets/key-renewals.js';

const ISSUER = 'https://issuer.example/tenant';
const jwkOf = (bits = 2048) =>
  generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' }) as Record<string, unknown>;
const rsa = { ...jwkOf(), kid: 'one', use: 'sig', alg: 'RS256' };
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ecJwk = ec.publicKey.export({ format: 'jwk' }) as Record<string, unknown>;

const METADATA = { issuer: ISSUER, jwks_uri: 'https://keys.example/jwks' };

function site(documents: Record<string, unknown>) {
  return (url: string) => {
    const document = documents[url];
    if (document === undefined) return Promise.resolve({ status: 404, body: '' });
    return Promise.resolve({ status: 200, body: typeof document === 'string' ? document : JSON.stringify(document) });
  };
}

const at = (metadata: unknown, keys: unknown) =>
  site({ [`${ISSUER}/.well-known/openid-configuration`]: metadata, [METADATA.jwks_uri]: keys });

describe('issuer keys', () => {
  it('are read from the location in the discovery document, ignoring its other members', async () => {
    const keys = await discoverKeys(ISSUER, at(METADATA, { keys: [rsa] }));
    expect(keys).toEqual([{ kty: 'RSA', kid: 'one', alg: 'RS256', n: rsa['n' as never], e: 'AQAB' }]);
  });

  it.each<[string, unknown, unknown, RegExp]>([
    ['there is no document', undefined, undefined, /responded with 404/],
    [
      'the document is of another issuer',
      { ...METADATA, issuer: 'https://issuer.example/other' },
      { keys: [rsa] },
      /another issuer/,
    ],
    ['the issuer is spelled with a slash', { ...METADATA, issuer: `${ISSUER}/` }, { keys: [rsa] }, /another issuer/],
    ['the document is no JSON', '<html>', { keys: [rsa] }, /is not JSON/],
    ['it names no keys', { issuer: ISSUER }, { keys: [rsa] }, /no jwks_uri/],
    ['the keys are cut off', METADATA, '{"keys":[{"kty":"RSA","n":"AAAA', /is not JSON/],
    ['there are no keys', METADATA, { keys: [] }, /no key that can verify/],
    ['there is no list of keys', METADATA, { keys: {} }, /not a JWK Set/],
    ['there are very many keys', METADATA, { keys: Array.from({ length: 51 }, () => rsa) }, /51 keys/],
    ['none is for signatures', METADATA, { keys: [{ ...rsa, use: 'enc' }] }, /no key that can verify/],
  ])('are rejected if %s', async (_what, metadata, keys, why) => {
    await expect(discoverKeys(ISSUER, at(metadata, keys))).rejects.toThrow(why);
  });
});

describe('a key set', () => {
  it('may be a SPIFFE trust bundle, whose X.509 keys are not used to verify tokens', () => {
    const svid = { ...ecJwk, kid: 'jwt' };
    const bundle = {
      keys: [
        { ...svid, use: 'jwt-svid' },
        { ...rsa, use: 'x509-svid', x5c: ['AA=='] },
      ],
      spiffe_sequence: 7,
    };
    expect(readKeySet(bundle)).toEqual([expect.objectContaining(svid)]);
    expect(() => readKeySet({ keys: [{ ...rsa, use: 'x509-svid' }] })).toThrow('no key that can verify signatures');
  });

  it('omits keys that cannot verify: symmetric, weak, encryption-only, malformed and unknown', () => {
    const others = [
      { kty: 'oct', k: 'AA' },
      jwkOf(1024),
      { ...ecJwk, use: 'enc' },
      { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' },
      { kty: 'AKP' },
      null,
      'x',
    ];
    expect(readKeySet({ keys: [...others, ecJwk] })).toEqual([ecJwk]);
  });

  it('drops private members, and is reported as containing them', () => {
    const secret = ec.privateKey.export({ format: 'jwk' });
    expect(readKeySet({ keys: [secret] })).toEqual([ecJwk]);
    expect(hasSecretKey({ keys: [ecJwk, secret] })).toBe(true);
    expect(hasSecretKey({ keys: [{ kty: 'oct', k: 'AA' }] })).toBe(true);
    expect(hasSecretKey({ keys: [ecJwk] })).toBe(false);
  });

  it('has changed when a key was added or removed, but not when only a key ID changed', () => {
    const [one, two] = [readKeySet({ keys: [rsa] }), readKeySet({ keys: [ecJwk] })];
    expect(keyChange(one, readKeySet({ keys: [{ ...rsa, kid: 'two' }] }))).toBeUndefined();
    expect(keyChange(one, two)).toEqual({ added: thumbprintsOf(two), removed: thumbprintsOf(one) });
  });
});
