import { SignJWT } from 'jose';
import { createHmac, hkdfSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEVELOPMENT_JWT_SECRET } from '../../src/platform/config/config.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { idOf, me, register } from './people.js';

let stage: Stage;
let service: Service;

beforeAll(async () => {
  stage = await openStage();
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

describe('a forged token is rejected', () => {
  const key = new Uint8Array(hkdfSync('sha256', DEVELOPMENT_JWT_SECRET, '', 'sealwright access token', 32));
  const foreign = new Uint8Array(32).fill(7);
  let sub: string;
  let sid: string;

  interface Forgery {
    alg?: string;
    typ?: string;
    iss?: string;
    aud?: string;
    exp?: string;
    as?: string;
    signer?: Uint8Array;
    claims?: Record<string, unknown>;
  }

  beforeAll(async () => {
    const { email, accessToken } = await register(service);
    sub = await idOf(stage, email);
    sid = (await me(service, accessToken)).body.session;
  });

  const forged = async (how: Forgery): Promise<string> =>
    new SignJWT({ sid, ...how.claims })
      .setProtectedHeader({ alg: how.alg ?? 'HS256', typ: how.typ ?? 'at+jwt' })
      .setIssuer(how.iss ?? 'sealwright')
      .setAudience(how.aud ?? 'sealwright-api')
      .setSubject(how.as ?? sub)
      .setIssuedAt()
      .setExpirationTime(how.exp ?? '5m')
      .sign(how.signer ?? key);

  it('while a correctly signed one is accepted, which validates the following cases', async () => {
    expect((await me(service, await forged({}))).status).toBe(200);
  });

  it.each<[string, Forgery]>([
    ['by another key', { signer: foreign }],
    ['by the secret itself instead of the derived key', { signer: Buffer.from(DEVELOPMENT_JWT_SECRET) }],
    ['of another type', { typ: 'JWT' }],
    ['that is a log-out token', { typ: 'logout+jwt' }],
    ['of another issuer', { iss: 'https://elsewhere.example' }],
    ['for another audience', { aud: 'elsewhere' }],
    ['that has expired', { exp: '-1m' }],
    ['without a session', { claims: { sid: undefined } }],
    ['of a session that there is not', { claims: { sid: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11' } }],
    ["with another person's session", { as: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11' }],
  ])('%s', async (_, how) => {
    assertProblem(await me(service, await forged(how)), { status: 401, code: 'auth.bad-token' });
  });

  it.each([['none'], ['HS256']])('without a signature, with %s', async (alg) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const head = part({ alg, typ: 'at+jwt' });
    const body = part({ sid, sub, iss: 'sealwright', aud: 'sealwright-api', iat: now, exp: now + 300 });
    expect((await me(service, `${head}.${body}.`)).status).toBe(401);
    const expiryless = part({ sid, sub, iss: 'sealwright', aud: 'sealwright-api', iat: now });
    const headed = `${part({ alg: 'HS256', typ: 'at+jwt' })}.${expiryless}`;
    const signature = createHmac('sha256', key).update(headed).digest('base64url');
    expect((await me(service, `${headed}.${signature}`)).status).toBe(401);
  });

  it('with HS512 and the right key', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const claims = part({ sid, sub, iss: 'sealwright', aud: 'sealwright-api', iat: now, exp: now + 300 });
    for (const [alg, hash, status] of [
      ['HS256', 'sha256', 200],
      ['HS512', 'sha512', 401],
    ] as const) {
      const text = `${part({ alg, typ: 'at+jwt' })}.${claims}`;
      const token = `${text}.${createHmac(hash, key).update(text).digest('base64url')}`;
      expect((await me(service, token)).status).toBe(status);
    }
  });
});
