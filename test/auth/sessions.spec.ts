import { SignJWT } from 'jose';
import { createHmac, hkdfSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEVELOPMENT_JWT_SECRET } from '../../src/platform/config/config.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { idOf, login, me, newPassword, register } from './people.js';

let stage: Stage;
let service: Service;
let other: Service;

beforeAll(async () => {
  stage = await openStage();
  service = await stage.start({ role: 'api' });
  other = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

/** The time until a process refuses the token; the promise is five seconds. */
async function refusedWithin5s(where: Service, token: string): Promise<void> {
  await until('the token is refused', 5, async () => (await me(where, token)).status === 401);
}

describe('registration', () => {
  it('signs a newcomer in as a viewer', async () => {
    const person = await register(service);
    const { status, body } = await me(service, person.accessToken);
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'user', name: person.email });
    expect(body.scopes).not.toContain('admin:*');
  });

  it('takes an address once, however it is written', async () => {
    const { email } = await register(service);
    const answers = await Promise.all(
      [email, email.toUpperCase(), ` ${email}`.trim()].map((again) =>
        service.call('POST', '/api/auth/register', { body: { email: again, password: newPassword() } }),
      ),
    );
    for (const answer of answers) assertProblem(answer, { status: 409, code: 'user.exists' });
  });

  it.each(['short', 'passwordpassword', 'Password1234!', 'aaaaaaaaaaaaaa', '123456789012', 'sealwright-2026!'])(
    'refuses the password %j',
    async (password) => {
      const body = { email: `weak-${Date.now()}@example.org`, password };
      assertProblem(await service.call('POST', '/api/auth/register', { body }), {
        status: 422,
        code: 'password.weak',
      });
    },
  );

  it('gives nobody a role by asking for it', async () => {
    const body = { email: 'boss@example.org', password: newPassword(), roles: ['admin'] };
    assertProblem(await service.call('POST', '/api/auth/register', { body }), { status: 400, code: 'request.invalid' });
  });

  it('is closed in prod', async () => {
    const settings = { SVC_PROFILE: 'prod', SVC_JWT_SECRET: 'a secret of this very test, long enough' };
    const closed = await stage.start({ role: 'api', settings });
    const body = { email: 'closed@example.org', password: newPassword() };
    assertProblem(await closed.call('POST', '/api/auth/register', { body }), {
      status: 403,
      code: 'registration.closed',
    });
    await closed.kill();
  });
});

describe('a session', () => {
  it('that signs out is over, on every process within five seconds', async () => {
    const { accessToken, refreshToken } = await register(service);
    expect((await me(other, accessToken)).status).toBe(200);
    expect((await service.call('POST', '/api/auth/logout', { key: accessToken })).status).toBe(204);
    assertProblem(await me(service, accessToken), { status: 401, code: 'auth.bad-token' });
    await refusedWithin5s(other, accessToken);
    const again = await service.call('POST', '/api/auth/refresh', { body: { refresh_token: refreshToken } });
    assertProblem(again, { status: 401, code: 'auth.bad-refresh-token' });
  });

  it('is listed and ended by its owner, and by nobody else', async () => {
    const person = await register(service);
    const second = (await login(service, person.email, person.password)).body.access_token;
    const { body } = await service.call('GET', '/api/auth/sessions', { key: second });
    expect(body.items.map(({ way, current }: Record<string, unknown>) => ({ way, current }))).toEqual([
      { way: 'password', current: true },
      { way: 'registration', current: false },
    ]);
    const first = body.items[1].id;
    const stranger = await register(service, 'stranger');
    const foreign = await service.call('DELETE', `/api/auth/sessions/${first}`, { key: stranger.accessToken });
    assertProblem(foreign, { status: 404, code: 'session.missing' });
    expect((await me(service, person.accessToken)).status).toBe(200);
    expect((await service.call('DELETE', `/api/auth/sessions/${first}`, { key: second })).status).toBe(204);
    expect((await me(service, person.accessToken)).status).toBe(401);
    expect((await me(service, second)).status).toBe(200);
  });

  it('ends for a disabled person, with their API keys, on every process within five seconds', async () => {
    const { email, accessToken, refreshToken } = await register(service);
    const id = await idOf(stage, email);
    await stage.sql(`UPDATE user_account SET roles = '{admin}' WHERE id = $1`, [id]);
    const rights = async () => (await me(service, accessToken)).body.scopes.includes('admin:*');
    await until('the role counts', 5, rights);
    const expiry = new Date(Date.now() + 3_600_000).toISOString();
    const made = await service.call('POST', '/api/settings/api-keys', {
      key: accessToken,
      body: { name: 'theirs', permissions: ['sign:read'], expiry },
    });
    const { key } = made.body;
    for (const process of [service, other]) expect((await me(process, key)).status).toBe(200);
    await stage.sql(`UPDATE user_account SET disabled = true WHERE id = $1`, [id]);
    for (const token of [accessToken, key]) await Promise.all([service, other].map((p) => refusedWithin5s(p, token)));
    const again = await service.call('POST', '/api/auth/refresh', { body: { refresh_token: refreshToken } });
    if (again.status === 200) await refusedWithin5s(service, again.body.access_token);
  });

  it('ends when the password changes, but for the one that changed it', async () => {
    const person = await register(service);
    const second = (await login(service, person.email, person.password)).body;
    const next = newPassword();
    const wrong = await service.call('POST', '/api/auth/password', {
      key: second.access_token,
      body: { currentPassword: 'not the password', password: next },
    });
    assertProblem(wrong, { status: 401, code: 'auth.wrong-credentials' });
    const changed = await service.call('POST', '/api/auth/password', {
      key: second.access_token,
      body: { currentPassword: person.password, password: next },
    });
    expect(changed.status).toBe(204);
    expect((await me(service, second.access_token)).status).toBe(200);
    expect((await me(service, person.accessToken)).status).toBe(401);
    expect((await login(service, person.email, person.password)).status).toBe(401);
    expect((await login(service, person.email, next)).status).toBe(200);
  });
});

describe('refresh tokens', () => {
  const refresh = (token: string, where = service) =>
    where.call('POST', '/api/auth/refresh', { body: { refresh_token: token } });

  it('work once; the second use ends the whole family', async () => {
    const first = await register(service);
    const second = (await refresh(first.refreshToken)).body;
    expect((await me(service, second.access_token)).status).toBe(200);
    assertProblem(await refresh(first.refreshToken), { status: 401, code: 'auth.bad-refresh-token' });
    assertProblem(await refresh(second.refresh_token), { status: 401, code: 'auth.bad-refresh-token' });
    expect((await me(service, second.access_token)).status).toBe(401);
    const ended = await stage.sql(
      `SELECT ended_because FROM auth_session s JOIN user_account u ON u.id = s.user_id WHERE u.email = $1`,
      [first.email],
    );
    expect(ended).toEqual([{ ended_because: 'refresh-token-reused' }]);
  });

  it('cannot be used twice at once', async () => {
    const { refreshToken } = await register(service);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => refresh(refreshToken, i % 2 ? other : service)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('are no credential for a call, and stored as a hash only', async () => {
    const { refreshToken } = await register(service);
    expect((await me(service, refreshToken)).status).toBe(401);
    const [row] = await stage.sql<{ dump: string }>(`SELECT string_agg(t::text, ' ') AS dump FROM refresh_token t`);
    expect(row?.dump).not.toContain(refreshToken.split('_')[2]);
  });
});

describe('guessing', () => {
  it('is slowed down for one person from one address, whether or not they exist', async () => {
    const { email } = await register(service);
    for (const who of [email, `nobody-${Date.now()}@example.org`]) {
      const answers = await Promise.all(Array.from({ length: 16 }, () => login(service, who, 'a wrong password')));
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      // Ten are free; the eleventh still gets an answer, and then everybody waits.
      expect(statuses).toEqual([...Array(11).fill(401), ...Array(5).fill(429)]);
      const refused = answers.find(({ status }) => status === 429);
      expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
  });

  it('gets the same answer for unknown people, after the same time', async () => {
    const { email } = await register(service);
    const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
    for (let i = 0; i < 9; i += 1) {
      for (const [kind, who] of [
        ['known', email],
        ['unknown', `x${i}-${email}`],
      ] as const) {
        const start = performance.now();
        const answer = await login(service, who, 'a wrong password');
        times[kind].push(performance.now() - start);
        assertProblem(answer, { status: 401, code: 'auth.wrong-credentials' });
      }
    }
    // The least of nine: what else this machine does only adds to them.
    const ratio = Math.min(...times.known) / Math.min(...times.unknown);
    expect(ratio).toBeGreaterThan(0.6);
    expect(ratio).toBeLessThan(1.6);
  });

  it('a right password takes the count away', async () => {
    const { email, password } = await register(service);
    for (let round = 0; round < 3; round += 1) {
      for (let i = 0; i < 4; i += 1) await login(service, email, 'a wrong password');
      expect((await login(service, email, password)).status).toBe(200);
    }
  });
});

describe('a forged token is refused', () => {
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

  it('but one made with all that is right is taken, so the following fail for their own reason', async () => {
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

  it.each([['none'], ['HS256']])('without a signature, as %s', async (alg) => {
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

  it('with HS512, by the right key', async () => {
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
