import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SmtpPeer } from '../fakes/smtp.js';
import { inDays, newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { me } from './people.js';

const smtp = new SmtpPeer();
const KEYS = '/api/settings/api-keys';
let stage: Stage;
let service: Service;
let other: Service;
let apiKey: string;
let adminEmail: string;

beforeAll(async () => {
  await smtp.start();
  stage = await openStage();
  ({ apiKey, adminEmail } = await stage.seed());
  // The test acts as the trusted proxy, so that it can send calls with any client address.
  const settings = { ...smtp.settings, SVC_TRUST_PROXY: '127.0.0.1' };
  service = await stage.start({ settings });
  other = await stage.start({ role: 'api' });
});
afterAll(async () => {
  await stage.close();
  await smtp.stop();
});

const create = (body: object) =>
  service.call('POST', KEYS, {
    key: apiKey,
    body: { name: 'k', permissions: ['sign:read'], expiry: inDays(1), ...body },
  });
const from = (address: string, key: string, where = service) =>
  where.call('GET', '/api/auth/me', { key, headers: { 'x-forwarded-for': address } });

describe('an API key with an allowed address list', () => {
  it('is rejected from other addresses', async () => {
    const { body } = await create({ addresses: ['192.0.2.0/24', '2001:db8::/32', '198.51.100.7'] });
    for (const address of ['192.0.2.1', '192.0.2.255', '::ffff:192.0.2.9', '2001:db8::1', '198.51.100.7']) {
      expect((await from(address, body.key)).status).toBe(200);
    }
    for (const address of ['192.0.3.1', '198.51.100.8', '2001:db9::1', '::ffff:192.0.3.9', '127.0.0.1']) {
      assertProblem(await from(address, body.key), { status: 401, code: 'auth.key-address' });
    }
  });

  it('ignores an address header set by the client', async () => {
    const { body } = await create({ addresses: ['192.0.2.0/24'] });
    assertProblem(await from('192.0.2.1', body.key, other), { status: 401, code: 'auth.key-address' });
  });

  it.each([['nonsense'], ['192.0.2.0/33'], ['192.0.2/24'], ['2001:db8::/129'], ['1.2.3.4/8/9'], ['']])(
    'cannot contain %j',
    async (block) => {
      assertProblem(await create({ addresses: [block] }), {
        status: 400,
        code: 'request.invalid',
        pointer: '/addresses',
      });
    },
  );
});

describe('API key rotation', () => {
  it('returns a new key while the old one remains valid, and later only the new one', async () => {
    const { id, key } = await newApiKey(service, apiKey, ['sign:read'], 30);
    const rotate = (overlapHours: number) =>
      service.call('POST', `${KEYS}/${id}/rotate`, { key: apiKey, body: { expiry: inDays(90), overlapHours } });
    const answers = await Promise.all(Array.from({ length: 5 }, () => rotate(1)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    const next = made[0]?.body;
    for (const each of [key, next.key]) expect((await me(service, each)).status).toBe(200);
    const rows = await stage.sql<{ ends: number }>(
      `SELECT extract(epoch FROM expiry - now())::int AS ends FROM api_key WHERE id = $1`,
      [id],
    );
    expect(rows[0]?.ends).toBeGreaterThan(3500);
    expect(rows[0]?.ends).toBeLessThanOrEqual(3600);
    await stage.change(`UPDATE api_key SET expiry = now() WHERE id = $1`, [id]);
    await until('the old key ends', 5, async () => (await me(service, key)).body.code === 'auth.expired-key');
    expect((await me(service, next.key)).status).toBe(200);
  });

  it('does not revive a revoked key, nor grant more than the caller holds', async () => {
    const { id } = await newApiKey(service, apiKey, ['admin:*']);
    const weak = await newApiKey(service, apiKey, ['settings:write']);
    const body = { expiry: inDays(1) };
    const climbed = await service.call('POST', `${KEYS}/${id}/rotate`, { key: weak.key, body });
    assertProblem(climbed, { status: 403, code: 'api-key.beyond-caller' });
    await service.call('DELETE', `${KEYS}/${id}`, { key: apiKey });
    const revived = await service.call('POST', `${KEYS}/${id}/rotate`, { key: apiKey, body });
    assertProblem(revived, { status: 409, code: 'api-key.over' });
  });
});

describe('before an API key expires', () => {
  it('its owner receives an email 14 days before, and another 3 days before', async () => {
    const made = await create({ name: 'nearly over', expiry: inDays(60) });
    await stage.change(
      `UPDATE api_key SET expiry = now() + interval '13 days', created_at = now() - interval '1 year' WHERE id = $1`,
      [made.body.id],
    );
    const count = () =>
      smtp.received.filter(({ to, subject }) => to === adminEmail && subject.includes('nearly over')).length;
    await until('the first mail', 30, async () => count() === 1);
    await stage.change(`UPDATE api_key SET expiry = now() + interval '2 days' WHERE id = $1`, [made.body.id]);
    await until('the second mail', 30, async () => count() === 2);
  });
});

describe('the rate limit', () => {
  const settings = { SVC_RATE_LIMIT_PER_MINUTE: '20' };
  /** Parses the structured field of the RateLimit draft: a string with parameters. */
  const field = (headers: Headers, name: string) => /^"default";(\w)=(\d+);(\w)=(\d+)$/.exec(headers.get(name) ?? '');

  it('is in every response, counts across all processes, and works without Redis', async () => {
    const [one, two] = [await stage.start({ role: 'api', settings }), await stage.start({ role: 'api', settings })];
    await until('the minute is young', 61, async () => new Date().getSeconds() < 30);
    const { key } = await newApiKey(service, apiKey, ['sign:read']);
    const first = await me(one, key);
    expect(first.headers.get('ratelimit-policy')).toBe('"default";q=20;w=60');
    expect(field(first.headers, 'ratelimit')?.slice(1, 4)).toEqual(['r', '19', 't']);
    await Promise.all(Array.from({ length: 14 }, () => me(one, key)));
    // A process fetches the other processes' counts within a second after a call, so the response to the third call counts all calls to the other process.
    const left: (string | undefined)[] = [];
    for (let i = 0; i < 3; i += 1) {
      left.push(field((await me(two, key)).headers, 'ratelimit')?.[2]);
      await new Promise((resolve) => setTimeout(resolve, 2200));
    }
    expect([left[0], left[2]]).toEqual(['19', '2']);
    const answers = await Promise.all(Array.from({ length: 10 }, () => me(two, key)));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.code).toBe('rate-limit.exceeded');
    const wait = Number(refused?.headers.get('retry-after'));
    expect(wait).toBeGreaterThanOrEqual(Number(field(refused?.headers ?? new Headers(), 'ratelimit')?.[4]));
    await stage.redis.stop();
    const { key: another } = await newApiKey(service, apiKey, ['sign:read']);
    const alone = await Promise.all(Array.from({ length: 25 }, () => me(one, another)));
    expect(alone.filter(({ status }) => status === 429)).toHaveLength(5);
    await stage.restartRedis();
  });

  it('applies per caller, not per address', async () => {
    const service20 = await stage.start({ role: 'api', settings });
    const keys = await Promise.all([1, 2].map(() => newApiKey(service, apiKey, ['sign:read'])));
    for (const { key } of keys) {
      const answers = await Promise.all(Array.from({ length: 15 }, () => me(service20, key)));
      expect(answers.every(({ status }) => status === 200)).toBe(true);
    }
  });
});

it('a response for one caller is never cached, while a public document may be', async () => {
  for (const path of ['/api/auth/me', '/api/v1/signing-keys', '/v1/hosts', '/api/audit/entries']) {
    const { status, headers } = await service.call('GET', path, { key: apiKey });
    expect([path, status, headers.get('cache-control')]).toEqual([path, status, 'no-store']);
  }
  const { headers } = await service.call('GET', '/.well-known/oauth-authorization-server');
  expect(headers.get('cache-control')).toBe('public, max-age=3600');
});

it('a credential may have several spaces before it, and nothing after it', async () => {
  const statusOf = async (authorization: string) =>
    (await service.call('GET', '/api/auth/me', { headers: { authorization } })).status;
  expect(await Promise.all([`Bearer   ${apiKey}`, `bearer ${apiKey}`].map(statusOf))).toEqual([200, 200]);
  expect(await Promise.all([`Bearer ${apiKey} x`, `Bearer`, `Bearer  `].map(statusOf))).toEqual([401, 401, 401]);
});

it('every response prevents framing, sniffing and referrer leaks', async () => {
  for (const path of ['/api/auth/me', '/nowhere', '/actuator/health', '/device', '/account']) {
    const { headers } = await service.call('GET', path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  }
});
