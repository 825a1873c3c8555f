import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PublicJwk } from '../../formats/encoding/json-web-key.js';
import { readKeySet } from '../credentials/key-sets/key-set.js';
import { ClientAssertionRefused, subjectOf, verifyClientAssertion } from './client-assertion.js';

const CLIENT = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';
const ISSUER = 'https://sign.example.com';
const ENDPOINT = `${ISSUER}/oauth/token`;
const NOW = new Date('2027-03-01T12:00:00Z');
const AT = NOW.getTime() / 1000;
const GOOD = { iss: CLIENT, sub: CLIENT, aud: ISSUER, jti: 'one', iat: AT, exp: AT + 60 };

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
let pair: Pair;
let other: Pair;
let keys: PublicJwk[];

beforeAll(async () => {
  [pair, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
  keys = [{ ...(await exportJWK(pair.publicKey)), kid: 'one' } as PublicJwk];
});

const signed = (claims: JWTPayload, header: object = {}, { privateKey } = pair) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'ES256', ...header }).sign(privateKey);
const verified = (assertion: string, known: readonly PublicJwk[] = keys) =>
  verifyClientAssertion(assertion, {
    clientId: CLIENT,
    audiences: [ISSUER, ENDPOINT],
    keys: () => Promise.resolve(known),
    now: NOW,
  });
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const without = (claim: string) => Object.fromEntries(Object.entries(GOOD).filter(([name]) => name !== claim));

describe('a client assertion is accepted', () => {
  it.each<[string, object, object]>([
    ['for the issuer', {}, {}],
    ['for the token endpoint', { aud: ENDPOINT }, {}],
    ['for both of them, as older clients have it', { aud: [ISSUER, ENDPOINT] }, {}],
    ['of the type JWT', {}, { typ: 'JWT' }],
    ['of the type of its own', {}, { typ: 'client-authentication+jwt' }],
    ['without iat, which nothing requires', { iat: undefined }, {}],
    ['from a clock that is 20 seconds fast', { iat: AT + 20, nbf: AT + 20 }, {}],
    ['with the id of its key', {}, { kid: 'one' }],
  ])('%s', async (_what, claims, header) => {
    const { jti, until } = await verified(await signed({ ...GOOD, ...claims }, header));
    expect({ jti, seconds: until.getTime() / 1000 - AT }).toEqual({ jti: 'one', seconds: 120 });
  });

  // Keycloak 14263: a new key with the ID of the old key. Spring Authorization Server 897: keys were cached forever.
  it.each<[string, () => Promise<PublicJwk[]>]>([
    ['where none was known', () => Promise.resolve([])],
    [
      'under the id of the one before',
      async () => [{ ...(await exportJWK(other.publicKey)), kid: 'one' } as PublicJwk],
    ],
  ])('signed with a key that the client has just published, %s', async (_what, before) => {
    const reads: boolean[] = [];
    const reader = (fresh: boolean) => {
      reads.push(fresh);
      return fresh ? Promise.resolve(keys) : before();
    };
    const expected = { clientId: CLIENT, audiences: [ISSUER], keys: reader, now: NOW };
    await verifyClientAssertion(await signed(GOOD, { kid: 'one' }), expected);
    expect(reads).toEqual([false, true]);
  });
});

describe('a client assertion is remembered', () => {
  it('for as long as it would be accepted', async () => {
    const assertion = await signed(GOOD);
    const { until } = await verified(assertion);
    const expected = { clientId: CLIENT, audiences: [ISSUER], keys: () => Promise.resolve(keys) };
    const now = new Date(until.getTime() + 1000);
    await expect(verifyClientAssertion(assertion, { ...expected, now })).rejects.toThrow(/expired/);
  });
});

describe('a client assertion is rejected', () => {
  it.each<[string, object, RegExp]>([
    ['for somebody else', { aud: 'https://other.example' }, /audience/],
    // OpenID Foundation, responsible disclosure of January 2025: a server can replay an assertion at another server that accepts the same audience.
    ['for somebody else as well', { aud: [ISSUER, 'https://other.example'] }, /audience/],
    ['for an address that only begins like ours', { aud: `${ISSUER}.evil.example` }, /audience/],
    ['for another of our endpoints', { aud: `${ISSUER}/oauth/revoke` }, /audience/],
    ['for nobody', { aud: [] }, /aud/],
    ['of another issuer', { iss: 'https://issuer.example' }, /iss claim/],
    ['of another client', { sub: 'another' }, /sub claim/],
    ['that has expired', { iat: AT - 400, exp: AT - 31 }, /expired/],
    ['from the future', { iat: AT + 31, exp: AT + 60 }, /future/],
    ['that is not valid yet', { nbf: AT + 31 }, /nbf claim/],
    ['that is valid for a day', { exp: AT + 86_400 }, /maximum of one hour/],
    ['with an iat that is no number', { iat: 'now' }, /iat claim|future/],
    ['with an empty jti', { jti: '' }, /jti/],
    ['with a jti without end', { jti: 'x'.repeat(257) }, /jti/],
  ])('%s', async (_what, claims, why) => {
    await expect(signed({ ...GOOD, ...claims }).then((token) => verified(token))).rejects.toThrow(why);
  });

  it.each(['iss', 'sub', 'aud', 'exp', 'jti'])('without %s', async (claim) => {
    await expect(verified(await signed(without(claim)))).rejects.toThrow(new RegExp(`${claim} claim|audience`));
  });

  it.each(['dpop+jwt', 'at+jwt', 'logout+jwt', 'secevent+jwt', 'application/dpop+jwt'])('with type %s', async (typ) => {
    await expect(verified(await signed(GOOD, { typ }))).rejects.toThrow(/typ header/);
  });

  it('signed with a different key, even under a known key ID', async () => {
    await expect(verified(await signed(GOOD, { kid: 'one' }, other))).rejects.toThrow(/does not match any key/);
  });

  it('with an embedded key', async () => {
    const header = { jwk: await exportJWK(other.publicKey) };
    await expect(verified(await signed(GOOD, header, other))).rejects.toThrow(/does not match any key/);
  });

  it('with alg none', async () => {
    await expect(verified(`${encoded({ alg: 'none' })}.${encoded(GOOD)}.`)).rejects.toThrow(ClientAssertionRefused);
    await expect(verified(`${encoded({ alg: 'none' })}.${encoded(GOOD)}.AA`)).rejects.toThrow(/does not match any key/);
  });

  it('with HS256 and the public key as the secret', async () => {
    const input = `${encoded({ alg: 'HS256', kid: 'one' })}.${encoded(GOOD)}`;
    for (const secret of [JSON.stringify(keys[0]), keys[0]?.x ?? '']) {
      const forged = `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
      await expect(verified(forged)).rejects.toThrow(/does not match any key/);
    }
  });

  it('changed after signing', async () => {
    const [header, , signature] = (await signed(GOOD)).split('.');
    await expect(verified(`${header}.${encoded({ ...GOOD, exp: AT + 600 })}.${signature}`)).rejects.toThrow(
      /does not match any key/,
    );
  });

  it('with an unsupported critical header', async () => {
    const header = encoded({ alg: 'ES256', crit: ['exp'], exp: AT });
    await expect(verified(`${header}.${encoded(GOOD)}.AA`)).rejects.toThrow(/does not match any key/);
  });

  it.each(['', 'x', 'a.b', 'a.b.c.d', '..', `${'x'.repeat(9000)}.x.x`])('that is not a JWT: %.10s', async (text) => {
    expect(subjectOf(text)).toBeUndefined();
    await expect(verified(text)).rejects.toThrow(/compact serialization/);
  });

  it('with an RSA key that is too short to be imported', () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    expect(() => readKeySet({ keys: [weak] })).toThrow(/no key/);
  });
});
