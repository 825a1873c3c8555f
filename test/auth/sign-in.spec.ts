import { hash as argon2, verify } from '@node-rs/argon2';
import { hkdfSync, randomBytes } from 'node:crypto';
import { decodeJwt, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEVELOPMENT_JWT_SECRET } from '../../src/platform/config/config.js';
import { accessToken } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let email: string;
let password: string;
let token: string;

beforeAll(async () => {
  stage = await openStage();
  ({ adminEmail: email, adminPassword: password } = await stage.seed());
  service = await stage.start({ role: 'api' });
  token = await accessToken(service, email, password);
});
afterAll(() => stage.close());

const login = (body: unknown): Promise<Answer> => service.call('POST', '/api/auth/login', { body });
const me = (key: string): Promise<Answer> => service.call('GET', '/api/auth/me', { key });

describe('signing in', () => {
  it('returns an access token valid for a day', async () => {
    const { status, headers, body } = await login({ email, password });
    expect(status).toBe(200);
    const refresh = { refresh_token: expect.stringMatching(/^sw_refresh_/) };
    expect(body).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 86_400, ...refresh });
    expect(headers.get('cache-control')).toBe('no-store');
    const { exp = 0, iat = 0, sub, sid } = decodeJwt(body.access_token);
    expect(exp - iat).toBe(86_400);
    expect((await me(body.access_token)).body).toEqual({
      kind: 'user',
      id: sub,
      name: email,
      scopes: ['admin:*'],
      keys: null,
      session: sid,
    });
  });

  it('accepts the address in any spelling', async () => {
    expect((await login({ email: `  ${email.toUpperCase()} `, password })).status).toBe(200);
  });

  it('returns the same response for a wrong password and an unknown address', async () => {
    const answers = await Promise.all([
      login({ email, password: 'wrong-password' }),
      login({ email: 'nobody@example.com', password }),
    ]);
    const [wrong, unknown] = answers.map(({ status, body, headers }) => ({
      status,
      body: { ...body, requestId: '' },
      challenge: headers.get('www-authenticate'),
    }));
    expect(wrong).toMatchObject({ status: 401, body: { code: 'auth.wrong-credentials' } });
    expect(unknown).toEqual(wrong);
  });

  it('takes about as long for an unknown address', async () => {
    const least = async (address: string) => {
      const times: number[] = [];
      for (let i = 0; i < 5; i += 1) {
        const start = performance.now();
        await login({ email: address, password: 'wrong-password' });
        times.push(performance.now() - start);
      }
      return Math.min(...times);
    };
    const [known, unknown] = [await least(email), await least('nobody@example.com')];
    // Without a password hash computation, the response would be at least ten times faster.
    expect(unknown).toBeGreaterThan(known / 3);
  });

  it.each([
    [{}],
    [{ email: 5, password: 'x' }],
    [{ email: 'a@b.c' }],
    [{ email: 'a@b.c', password: { $ne: '' } }],
    [{ email: 'a@b.c', password: 'p'.repeat(513) }],
    [{ email: 'a@b.c', password: 'p', admin: true }],
  ])('rejects %j', async (body) => {
    const answer = await login(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'request.invalid']);
  });
});

describe('a password with accents is the same in every Unicode normalization form', () => {
  const typed = () => `Grüße-${randomBytes(6).toString('hex')}-Äpfel`;
  const FORMS = ['NFC', 'NFD'] as const;

  it.each(FORMS)('when set as %s: sign-in, step-up and change', async (set) => {
    const other = set === 'NFC' ? 'NFD' : 'NFC';
    const [chosen, next] = [typed(), typed()];
    const address = `${randomBytes(4).toString('hex')}@example.org`;
    const body = { email: address, password: chosen.normalize(set) };
    expect((await service.call('POST', '/api/auth/register', { body })).status).toBe(201);
    const { status, body: tokens } = await login({ email: address, password: chosen.normalize(other) });
    expect(status).toBe(200);
    const as = (path: string, what: object) => service.call('POST', path, { key: tokens.access_token, body: what });
    expect((await as('/api/auth/step-up', { password: chosen.normalize(other) })).status).toBe(204);
    const change = { currentPassword: chosen.normalize(other), password: next.normalize(set) };
    expect((await as('/api/auth/password', change)).status).toBe(204);
    expect((await login({ email: address, password: next.normalize(other) })).status).toBe(200);
  });

  it.each(FORMS)('when an earlier version hashed it as %s, and is rehashed as NFC afterwards', async (form) => {
    const chosen = typed();
    const address = `${randomBytes(4).toString('hex')}@example.org`;
    await service.call('POST', '/api/auth/register', { body: { email: address, password: chosen } });
    const stored = await argon2(chosen.normalize(form));
    await stage.change(`UPDATE user_account SET password_hash = $1 WHERE email = $2`, [stored, address]);
    for (const how of FORMS)
      expect((await login({ email: address, password: chosen.normalize(how) })).status).toBe(200);
    const [row] = await stage.sql<{ hash: string }>(`SELECT password_hash AS hash FROM user_account WHERE email = $1`, [
      address,
    ]);
    expect(await verify(row?.hash ?? '', chosen.normalize('NFC'))).toBe(true);
    expect((await login({ email: address, password: `${password}x` })).status).toBe(401);
  });
});

describe('an access token', () => {
  const key = (secret: string, purpose = 'sealwright access token') =>
    new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32));
  const claims = () => {
    const { sub = '', sid } = decodeJwt(token);
    const now = Math.floor(Date.now() / 1000);
    return { iss: 'sealwright', aud: 'sealwright-api', sub, sid, iat: now, exp: now + 60 };
  };
  const signed = (change: object = {}, header: object = {}, secret = key(DEVELOPMENT_JWT_SECRET)) =>
    new SignJWT({ ...claims(), ...change }).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', ...header }).sign(secret);

  it('is accepted when created by this test, which validates the following cases', async () => {
    expect((await me(await signed())).status).toBe(200);
  });

  const bad: [string, () => Promise<string> | string][] = [
    ['without a signature (alg none)', () => new UnsecuredJWT(claims()).encode()],
    ['without a signature but with the right header', () => `${token.split('.').slice(0, 2).join('.')}.`],
    ['with another claim under the old signature', () => withPayload(token, { sub: 'somebody' })],
    ['of another secret', () => signed({}, {}, key('x'.repeat(40)))],
    ['signed by the secret itself', () => signed({}, {}, new TextEncoder().encode(DEVELOPMENT_JWT_SECRET))],
    ['signed by a key for another purpose', () => signed({}, {}, key(DEVELOPMENT_JWT_SECRET, 'sealwright cursor'))],
    ['of another algorithm', () => signed({}, { alg: 'HS512' }, new Uint8Array(64))],
    ['of another type', () => signed({}, { typ: 'JWT' })],
    ['of no type', () => signed({}, { typ: undefined })],
    ['of another issuer', () => signed({ iss: 'elsewhere' })],
    ['for another audience', () => signed({ aud: 'another-api' })],
    ['for nobody', () => signed({ sub: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11' })],
    ['for what is no id', () => signed({ sub: "1' OR '1'='1" })],
    ['without a subject', () => signed({ sub: undefined })],
    ['without an end', () => signed({ exp: undefined })],
    ['that has ended', () => signed({ exp: Math.floor(Date.now() / 1000) - 120 })],
    ['of a session that there is not', () => signed({ sid: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11' })],
    ['without a session', () => signed({ sid: undefined })],
  ];

  it.each(bad)('%s is rejected', async (_, make) => {
    const { status, body } = await me(await make());
    expect([status, body.code]).toEqual([401, 'auth.bad-token']);
  });
});

describe('a disabled user', () => {
  it('is signed out within five seconds, and cannot sign in', async () => {
    expect((await me(token)).status).toBe(200);
    await stage.change(`UPDATE user_account SET disabled = true WHERE email = $1`, [email]);
    await until('the token is refused', 5, async () => (await me(token)).status === 401);
    const { status, body } = await login({ email, password });
    expect([status, body.code]).toEqual([401, 'auth.wrong-credentials']);
  });

  it('is accepted again immediately after being enabled, with the previous token', async () => {
    await stage.change(`UPDATE user_account SET disabled = false WHERE email = $1`, [email]);
    expect((await me(token)).status).toBe(200);
  });

  it('has to sign in again if the session was ended', async () => {
    const fresh = await accessToken(service, email, password);
    await stage.change(`UPDATE auth_session SET ended_at = now(), ended_because = 'ended' WHERE ended_at IS NULL`);
    await until('the token is refused', 5, async () => (await me(fresh)).status === 401);
    expect((await me(await accessToken(service, email, password))).status).toBe(200);
  });
});

function withPayload(jwt: string, change: object): string {
  const [header = '', , signature = ''] = jwt.split('.');
  const payload = Buffer.from(JSON.stringify({ ...decodeJwt(jwt), ...change })).toString('base64url');
  return [header, payload, signature].join('.');
}
