import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { decodeJws, isSignedByJwk, jwkThumbprint, type PublicJwk } from './json-web-key.js';

it.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'])(
  '%s: a JWT signed by jose verifies with its key only',
  async (alg) => {
    const [pair, other] = await Promise.all([generateKeyPair(alg), generateKeyPair(alg)]);
    const token = await new SignJWT({ sub: 'x' }).setProtectedHeader({ alg }).sign(pair.privateKey);
    const decoded = decodeJws(token);
    if (decoded === undefined) throw new Error('it is a JWT');
    expect(decoded.payload).toEqual({ sub: 'x' });
    const jwk = (await exportJWK(pair.publicKey)) as PublicJwk;
    expect(isSignedByJwk(decoded, jwk)).toBe(true);
    expect(isSignedByJwk(decoded, (await exportJWK(other.publicKey)) as PublicJwk)).toBe(false);
    expect(isSignedByJwk({ ...decoded, signingInput: `${decoded.signingInput}A` }, jwk)).toBe(false);
    expect(isSignedByJwk({ ...decoded, header: { alg, crit: ['b64'] } }, jwk)).toBe(false);
    expect(jwkThumbprint(jwk)).toBe(await calculateJwkThumbprint(jwk as never));
  },
);

it('a symmetric key, a missing algorithm, and a key of another type or curve verify nothing', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const token = await new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
  const decoded = decodeJws(token);
  if (decoded === undefined) throw new Error('it is a JWT');
  const jwk = (await exportJWK(publicKey)) as PublicJwk;
  for (const alg of ['none', 'HS256', 'RS256', 'ES384', '__proto__', 7])
    expect(isSignedByJwk({ ...decoded, header: { alg } }, jwk)).toBe(false);
  expect(isSignedByJwk(decoded, { ...jwk, x: 'AA' })).toBe(false);
  expect(jwkThumbprint({ kty: 'oct' })).toBeUndefined();
  expect(jwkThumbprint({ kty: 'EC', crv: 'P-256', x: 'AA' })).toBeUndefined();
});

describe('text that is not a compact JWT is not decoded', () => {
  const part = (text: string) => Buffer.from(text).toString('base64url');
  it.each([
    '',
    'a',
    'a.b.c',
    `${part('{}')}.${part('[]')}.AA`,
    `${part('{}')}.${part('"x"')}.AA`,
    `${part('{}')}.${part('{}')}.`,
    `${part('{}')}.${part('{}')}.A+/=`,
    `${part('{}')}.${Buffer.from([0x22, 0xff]).toString('base64url')}.AA`,
    `${part('{}')}.${part('{}')}.AA.AA.AA`,
    `${part('{"alg":"ES256","alg":"RS256"}')}.${part('{}')}.AA`,
    `${part('{}')}.${part('{"iss":"a","iss":"b"}')}.AA`,
    `${part('{}')}.${part('{"project_id":9007199254740993}')}.AA`,
  ])('%j', (text) => {
    expect(decodeJws(text)).toBeUndefined();
  });
});
