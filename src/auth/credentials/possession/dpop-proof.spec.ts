import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { createHash, createHmac, generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { jwkThumbprint, type PublicJwk } from '../../../formats/encoding/json-web-key.js';
import { plainAddress, type ProvenCall, verifyDpopProof } from './dpop-proof.js';

const NOW = new Date('2027-03-01T12:00:00Z');
const AT = NOW.getTime() / 1000;
const ADDRESS = 'https://sign.example.com/api/v1/sign';
const TOKEN = 'header.payload.signature';
const hashOf = (token: string) => createHash('sha256').update(token).digest('base64url');
const GOOD = { jti: 'one', htm: 'POST', htu: ADDRESS, iat: AT, ath: hashOf(TOKEN) };
const CALL: ProvenCall = {
  method: 'POST',
  addresses: [ADDRESS, 'http://10.0.0.1:9090/api/v1/sign'],
  accessToken: TOKEN,
};

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
let pair: Pair;
let other: Pair;
let jwk: JWK;

beforeAll(async () => {
  [pair, other] = await Promise.all([generateKeyPair('ES256', { extractable: true }), generateKeyPair('ES256')]);
  jwk = await exportJWK(pair.publicKey);
});

const proofOf = (claims: object = {}, header: object = {}, { privateKey } = pair) =>
  new SignJWT({ ...GOOD, ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk, ...header })
    .sign(privateKey);
const verified = (proof: string, call = CALL) => verifyDpopProof(proof, call, NOW);
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a DPoP proof is accepted', () => {
  it('and returns the thumbprint of its key', async () => {
    const { thumbprint, jti, until } = await verified(await proofOf());
    expect({ thumbprint, jti }).toEqual({ thumbprint: jwkThumbprint(jwk as PublicJwk), jti: 'one' });
    expect(until.getTime() / 1000 - AT).toBe(120);
  });

  // The example proof of RFC 9449 section 4.2, verified as in section 4.3.
  it('as given in the RFC', async () => {
    const proof =
      'eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg';
    const call = { method: 'POST', addresses: ['https://server.example.com/token'], accessToken: undefined };
    const { thumbprint } = await verifyDpopProof(proof, call, new Date(1_562_262_616_000));
    expect(thumbprint).toBe('0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I');
  });

  it.each<[string, object]>([
    // Keycloak 39332, Spring Security 17202: behind a proxy, the service sees a URL other than the client's.
    ['for the address behind the proxy', { htu: 'http://10.0.0.1:9090/api/v1/sign' }],
    ['with a host in capitals and the default port', { htu: 'https://SIGN.example.com:443/api/v1/sign' }],
    ['with query and fragment, which do not count', { htu: `${ADDRESS}?limit=1#here` }],
    ['with escapes that stand for letters', { htu: 'https://sign.example.com/api/v1/si%67n' }],
    ['from a clock that is 20 seconds fast', { iat: AT + 20 }],
    ['that is a minute old', { iat: AT - 60 }],
    ['with a nonce that nobody gave', { nonce: 'x' }],
  ])('%s', async (_what, claims) => {
    await expect(verified(await proofOf(claims))).resolves.toMatchObject({ jti: 'one' });
  });

  it.each(['ES384', 'PS256', 'RS256', 'EdDSA'])('with %s', async (alg) => {
    const made = await generateKeyPair(alg);
    const proof = await proofOf({}, { alg, jwk: await exportJWK(made.publicKey) }, made);
    await expect(verified(proof)).resolves.toMatchObject({ jti: 'one' });
  });

  it('without ath when no token is presented', async () => {
    await expect(
      verified(await proofOf({ ath: undefined }), { ...CALL, accessToken: undefined }),
    ).resolves.toBeDefined();
  });
});

describe('a DPoP proof is kept for replay detection', () => {
  // Keycloak 43505: the replay cache dropped a proof that the clock skew still accepted.
  it.each([AT - 90, AT, AT + 30])('for as long as it would be accepted: issued at %i', async (iat) => {
    const proof = await proofOf({ iat });
    const { until } = await verified(proof);
    const after = until.getTime() + 1000;
    await expect(verifyDpopProof(proof, CALL, new Date(after))).rejects.toThrow(/too old/);
  });
});

describe('a DPoP proof is rejected', () => {
  it.each<[string, object, RegExp]>([
    ['for another method', { htm: 'GET' }, /method/],
    ['for a method in other letters', { htm: 'post' }, /method/],
    ['for another path', { htu: 'https://sign.example.com/api/v1/sign/other' }, /htu/],
    ['for a path with a slash more', { htu: `${ADDRESS}/` }, /htu/],
    ['for another service', { htu: 'https://other.example/api/v1/sign' }, /htu/],
    ['for http in place of https', { htu: 'http://sign.example.com/api/v1/sign' }, /htu/],
    ['for an address with a user in it', { htu: 'https://sign.example.com@evil.example/api/v1/sign' }, /htu/],
    ['for no address', { htu: undefined }, /htu/],
    ['for a list of addresses', { htu: [ADDRESS] }, /htu/],
    // Keycloak 38333: without an `ath` check, any proof by any key was accepted.
    ['for another token', { ath: hashOf('another') }, /access token/],
    ['for no token', { ath: undefined }, /access token/],
    ['with the token itself in place of its hash', { ath: TOKEN }, /access token/],
    ['from the future', { iat: AT + 31 }, /future/],
    ['that is old', { iat: AT - 91 }, /too old/],
    ['without a time', { iat: undefined }, /iat/],
    ['with a time that is no number', { iat: '1' }, /iat|not valid yet/],
    ['without jti', { jti: undefined }, /jti/],
    ['with an empty jti', { jti: '' }, /jti/],
    ['with a jti without end', { jti: 'x'.repeat(257) }, /jti/],
    ['with an end that has passed', { exp: AT - 31 }, /not valid yet/],
  ])('%s', async (_what, claims, why) => {
    await expect(proofOf(claims).then((proof) => verified(proof))).rejects.toThrow(why);
  });

  it.each([undefined, 'JWT', 'at+jwt', 'client-authentication+jwt'])('with type %s', async (typ) => {
    await expect(verified(await proofOf({}, { typ }))).rejects.toThrow(/must be dpop\+jwt/);
  });

  it('not signed by its key', async () => {
    await expect(verified(await proofOf({}, {}, other))).rejects.toThrow(/does not match the key/);
  });

  it('that contains the private key', async () => {
    await expect(verified(await proofOf({}, { jwk: await exportJWK(pair.privateKey) }))).rejects.toThrow(/private/);
  });

  it.each<[string, unknown]>([
    ['no key', undefined],
    ['the id of a key', 'one'],
    ['a key for encryption', { use: 'enc' }],
  ])('with %s', async (_what, given) => {
    const header = { jwk: typeof given === 'object' ? { ...jwk, ...given } : given };
    await expect(verified(await proofOf({}, header as object))).rejects.toThrow(/no usable public key/);
  });

  it('with an RSA key that is too short', async () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    await expect(verified(await proofOf({}, { alg: 'ES256', jwk: weak }))).rejects.toThrow(/2048/);
  });

  it('with alg none, HS256 or a symmetric key', async () => {
    for (const alg of ['none', 'HS256']) {
      const input = `${encoded({ alg, typ: 'dpop+jwt', jwk })}.${encoded(GOOD)}`;
      const signature = createHmac('sha256', JSON.stringify(jwk)).update(input).digest('base64url');
      await expect(verified(`${input}.${signature}`)).rejects.toThrow(/asymmetric algorithm/);
    }
    await expect(verified(await proofOf({}, { jwk: { kty: 'oct', k: 'c2VjcmV0' } }))).rejects.toThrow(/symmetric/);
  });

  it('with an algorithm that does not match its key', async () => {
    const [, payload, signature] = (await proofOf()).split('.');
    const forged = `${encoded({ alg: 'RS256', typ: 'dpop+jwt', jwk })}.${payload}.${signature}`;
    await expect(verified(forged)).rejects.toThrow(/does not match the key/);
    const limited = await proofOf({}, { jwk: { ...jwk, alg: 'ES384' } });
    await expect(verified(limited)).rejects.toThrow(/does not match the key/);
  });

  it('changed after signing', async () => {
    const [header, , signature] = (await proofOf()).split('.');
    await expect(verified(`${header}.${encoded({ ...GOOD, jti: 'two' })}.${signature}`)).rejects.toThrow(
      /does not match the key/,
    );
  });

  it('that is sent twice, is not a JWT, or is too long', async () => {
    const proof = await proofOf();
    for (const text of [`${proof}, ${proof}`, '', 'x.y', `${proof}.`, 'x'.repeat(9000)])
      await expect(verified(text)).rejects.toThrow(/sent exactly once and contain a single JWT/);
  });
});

describe('a URL in a DPoP proof', () => {
  it.each([
    ['https://a.example', 'https://a.example/'],
    ['HTTPS://A.example:443/x?y#z', 'https://a.example/x'],
    ['https://a.example/b/../c', 'https://a.example/c'],
    ['https://a.example/%7ex%2fy', 'https://a.example/~x%2Fy'],
    ['file:///x', undefined],
    ['//a.example/x', undefined],
    ['https://u@a.example/', undefined],
  ])('with the value %s is compared as %s', (text, plain) => {
    expect(plainAddress(text)).toBe(plain);
  });
});
