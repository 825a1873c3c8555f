import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PublicJwk } from '../../formats/encoding/json-web-key.js';
import { unverifiedIssuerOf, verifyWorkloadToken } from './workload-token.js';

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'https://sign.example.com';
const NOW = new Date('2027-03-01T12:00:00Z');
const AT = NOW.getTime() / 1000;
const GOOD = { iss: ISSUER, aud: AUDIENCE, sub: 'repo:org/app', jti: 'one', iat: AT, nbf: AT, exp: AT + 300 };

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
let pair: Pair;
let other: Pair;
let keys: PublicJwk[];

const published = async ({ publicKey }: Pair, kid: string) => ({ ...(await exportJWK(publicKey)), kid }) as PublicJwk;

beforeAll(async () => {
  [pair, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
  keys = [await published(pair, 'one')];
});

const signed = (claims: JWTPayload, header: object = {}, { privateKey } = pair) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'one', ...header }).sign(privateKey);
const verified = (token: string, known = keys) => verifyWorkloadToken(token, ISSUER, () => Promise.resolve(known), NOW);
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a workload token is accepted', () => {
  it('and yields the verifying key, its claims and its replay identifier', async () => {
    const found = await verified(await signed(GOOD));
    expect(found).toMatchObject({
      claims: GOOD,
      audience: AUDIENCE,
      key: keys[0],
      expiresAt: new Date('2027-03-01T12:05:00Z'),
    });
    expect(unverifiedIssuerOf(found.token)).toBe(ISSUER);
  });

  it('with a single-item audience list, within 30 seconds of clock skew, and without kid', async () => {
    await expect(verified(await signed({ ...GOOD, aud: [AUDIENCE] }))).resolves.toMatchObject({ audience: AUDIENCE });
    await expect(verified(await signed({ ...GOOD, exp: AT - 20 }))).resolves.toBeDefined();
    await expect(verified(await signed({ ...GOOD, iat: AT + 20, nbf: AT + 20 }))).resolves.toBeDefined();
    await expect(verified(await signed(GOOD, { kid: undefined }))).resolves.toBeDefined();
  });

  it('from an issuer that changed its keys, after fetching them again', async () => {
    const asked: boolean[] = [];
    const next = await published(other, 'two');
    const reader = (fresh: boolean) => {
      asked.push(fresh);
      return Promise.resolve(fresh ? [next] : keys);
    };
    const token = await signed(GOOD, { kid: 'two' }, other);
    await expect(verifyWorkloadToken(token, ISSUER, reader, NOW)).resolves.toMatchObject({ key: next });
    expect(asked).toEqual([false, true]);
  });

  it('and identified by its jti, or without one by the signed content, regardless of the signature', async () => {
    const hashOf = async (claims: JWTPayload) => (await verified(await signed(claims))).useHash.toString('hex');
    expect(await hashOf(GOOD)).toBe(await hashOf({ ...GOOD, sub: 'repo:org/other' }));
    expect(await hashOf(GOOD)).not.toBe(await hashOf({ ...GOOD, jti: 'two' }));
    const { jti: _jti, ...without } = GOOD;
    // ECDSA signatures over the same content differ.
    expect(await hashOf(without)).toBe(await hashOf(without));
    expect(await hashOf(without)).not.toBe(await hashOf({ ...without, sub: 'repo:org/other' }));
  });
});

describe('a workload token is rejected', () => {
  it('with an expiry that cannot be stored', async () => {
    for (const exp of [1e13, 1e300])
      await expect(verified(await signed({ ...GOOD, exp }))).rejects.toThrow(/exp claim/);
  });

  it('signed with a different key under the same kid', async () => {
    await expect(verified(await signed(GOOD, {}, other))).rejects.toThrow(/does not match any key/);
  });

  it('with alg none, or signed with the public key as a symmetric secret', async () => {
    const none = `${encoded({ alg: 'none' })}.${encoded(GOOD)}.`;
    await expect(verified(none)).rejects.toThrow(/algorithm/);
    expect(() => unverifiedIssuerOf(none)).toThrow(/not a JWT/);
    const input = `${encoded({ alg: 'HS256', kid: 'one' })}.${encoded(GOOD)}`;
    const mac = createHmac('sha256', JSON.stringify(keys[0])).update(input).digest('base64url');
    await expect(verified(`${input}.${mac}`)).rejects.toThrow(/asymmetric algorithm/);
  });

  it.each<[string, JWTPayload, RegExp]>([
    ['another issuer', { iss: 'https://issuer.example.evil' }, /iss claim/],
    ['an issuer in another case', { iss: 'https://Issuer.example' }, /iss claim/],
    ['expired', { exp: AT - 31 }, /expired/],
    ['from the future by nbf', { nbf: AT + 60 }, /nbf claim/],
    ['from the future by iat', { iat: AT + 60 }, /iat claim/],
    ['too old, though not expired', { iat: AT - 25 * 3600, nbf: AT - 25 * 3600 }, /too old/],
    ['no expiry', { exp: undefined }, /exp claim/],
    ['no time of issue', { iat: undefined }, /iat claim/],
    ['no subject', { sub: undefined }, /sub claim/],
    ['a list as subject', { sub: ['repo:org/app'] as never }, /sub claim/],
    ['two audiences', { aud: [AUDIENCE, 'https://other.example'] }, /one audience/],
    ['no audience', { aud: [] }, /audience/],
    ['a NUL in a claim', { ref: 'refs/tags/v1\0' }, /characters/],
    ['half a surrogate pair in a claim', { ref: 'v1\ud800' }, /characters/],
    ['very many claims', { many: Array.from({ length: 300 }, (_, i) => i) }, /too many/],
  ])('%s', async (_what, change, why) => {
    await expect(verified(await signed({ ...GOOD, ...change }))).rejects.toThrow(why);
  });

  it('with a changed payload, an unknown extension, or if it is not a JWT', async () => {
    const token = await signed(GOOD);
    const [head, , signature] = token.split('.');
    await expect(verified(`${head}.${encoded({ ...GOOD, sub: 'repo:org/evil' })}.${signature}`)).rejects.toThrow(
      /does not match any key/,
    );
    await expect(verified(`${token}.x`)).rejects.toThrow(/header|No key/);
    for (const text of ['', 'a.b', 'a.b.c', `${'a'.repeat(13_000)}.b.c`])
      expect(() => unverifiedIssuerOf(text)).toThrow(/not a JWT/);
  });

  it('from an issuer without keys', async () => {
    await expect(verified(await signed(GOOD), [])).rejects.toThrow(/does not match any key/);
  });
});
