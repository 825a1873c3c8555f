import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { idOf, login, me, newPassword, register } from './people.js';

let stage: Stage;
let service: Service;
let other: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  other = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

/** Waits until a process refuses the token; the documented limit is five seconds. */
async function refusedWithin5s(where: Service, token: string): Promise<void> {
  await until('the token is refused', 5, async () => (await me(where, token)).status === 401);
}

/** Returns the CPU time (user and system, all threads) of the service since its start, in seconds. */
async function cpuSeconds(): Promise<number> {
  const { body } = await service.call('GET', '/actuator/prometheus', { key: apiKey });
  const line = /^sealwright_process_cpu_seconds_total (\S+)$/m.exec(body as string);
  if (line === null) throw new Error(`no CPU seconds in the metrics: ${String(body).slice(0, 200)}`);
  return Number(line[1]);
}

describe('registration', () => {
  it('signs a new user in as a viewer', async () => {
    const person = await register(service);
    const { status, body } = await me(service, person.accessToken);
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'user', name: person.email });
    expect(body.scopes).not.toContain('admin:*');
  });

  it('accepts an address once, however it is written', async () => {
    const { email } = await register(service);
    const answers = await Promise.all(
      [email, email.toUpperCase(), ` ${email}`.trim()].map((again) =>
        service.call('POST', '/api/auth/register', { body: { email: again, password: newPassword() } }),
      ),
    );
    for (const answer of answers) assertProblem(answer, { status: 409, code: 'user.exists' });
  });

  it.each(['short', 'passwordpassword', 'Password1234!', 'aaaaaaaaaaaaaa', '123456789012', 'sealwright-2026!'])(
    'rejects the password %j',
    async (password) => {
      const body = { email: `weak-${Date.now()}@example.org`, password };
      assertProblem(await service.call('POST', '/api/auth/register', { body }), {
        status: 422,
        code: 'password.weak',
      });
    },
  );

  it('ignores a requested role', async () => {
    const body = { email: 'boss@example.org', password: newPassword(), roles: ['admin'] };
    assertProblem(await service.call('POST', '/api/auth/register', { body }), { status: 400, code: 'request.invalid' });
  });

  it('is disabled in prod', async () => {
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
  it('ends at sign-out, in every process within five seconds', async () => {
    const { accessToken, refreshToken } = await register(service);
    expect((await me(other, accessToken)).status).toBe(200);
    expect((await service.call('POST', '/api/auth/logout', { key: accessToken })).status).toBe(204);
    assertProblem(await me(service, accessToken), { status: 401, code: 'auth.bad-token' });
    await refusedWithin5s(other, accessToken);
    const again = await service.call('POST', '/api/auth/refresh', { body: { refresh_token: refreshToken } });
    assertProblem(again, { status: 401, code: 'auth.bad-refresh-token' });
  });

  it('is listed and ended by its owner, and nobody else', async () => {
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

  it('ends when the person is disabled, as do their API keys, in every process within five seconds', async () => {
    const { email, accessToken, refreshToken } = await register(service);
    const id = await idOf(stage, email);
    await stage.change(`UPDATE user_account SET roles = '{admin}' WHERE id = $1`, [id]);
    const rights = async () => (await me(service, accessToken)).body.scopes.includes('admin:*');
    await until('the role counts', 5, rights);
    const expiry = new Date(Date.now() + 3_600_000).toISOString();
    const made = await service.call('POST', '/api/settings/api-keys', {
      key: accessToken,
      body: { name: 'theirs', permissions: ['sign:read'], expiry },
    });
    const { key } = made.body;
    for (const process of [service, other]) expect((await me(process, key)).status).toBe(200);
    await stage.change(`UPDATE user_account SET disabled = true WHERE id = $1`, [id]);
    for (const token of [accessToken, key]) await Promise.all([service, other].map((p) => refusedWithin5s(p, token)));
    const again = await service.call('POST', '/api/auth/refresh', { body: { refresh_token: refreshToken } });
    if (again.status === 200) await refusedWithin5s(service, again.body.access_token);
  });

  it('ends when the password changes, except the one that changed it', async () => {
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

  it('work once; a second use revokes the whole family', async () => {
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

  it('cannot be used twice concurrently', async () => {
    const { refreshToken } = await register(service);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => refresh(refreshToken, i % 2 ? other : service)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('are not accepted as credentials, and are stored as a hash only', async () => {
    const { refreshToken } = await register(service);
    expect((await me(service, refreshToken)).status).toBe(401);
    const [row] = await stage.sql<{ dump: string }>(`SELECT string_agg(t::text, ' ') AS dump FROM refresh_token t`);
    expect(row?.dump).not.toContain(refreshToken.split('_')[2]);
  });
});

describe('password guessing', () => {
  it('is throttled per person and address, whether or not the person exists', async () => {
    const { email } = await register(service);
    for (const who of [email, `nobody-${Date.now()}@example.org`]) {
      const answers = await Promise.all(Array.from({ length: 16 }, () => login(service, who, 'a wrong password')));
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      // The first ten failures have no consequences. The eleventh attempt is still processed, and further attempts are rate limited.
      expect(statuses).toEqual([...Array(11).fill(401), ...Array(5).fill(429)]);
      const refused = answers.find(({ status }) => status === 429);
      expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
  });

  it('gets the same response for unknown people, at the same cost', async () => {
    const { email } = await register(service);
    const seconds = { known: 0, unknown: 0 };
    for (let i = 0; i < 9; i += 1) {
      for (const [kind, who] of [
        ['known', email],
        ['unknown', `x${i}-${email}`],
      ] as const) {
        const before = await cpuSeconds();
        const answer = await login(service, who, 'a wrong password');
        seconds[kind] += (await cpuSeconds()) - before;
        assertProblem(answer, { status: 401, code: 'auth.wrong-credentials' });
      }
    }
    // Measures CPU time, which depends only on the work done and not on other load on the machine.
    const ratio = seconds.known / seconds.unknown;
    expect(ratio).toBeGreaterThan(0.7);
    expect(ratio).toBeLessThan(1.4);
  });

  it('is counted from zero after a correct password', async () => {
    const { email, password } = await register(service);
    for (let round = 0; round < 3; round += 1) {
      for (let i = 0; i < 4; i += 1) await login(service, email, 'a wrong password');
      expect((await login(service, email, password)).status).toBe(200);
    }
  });
});
