import { execFileSync, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { makeClient, postForm } from './oauth-calls.js';
import { login, me, register } from './people.js';

/** Tests for classes of vulnerabilities that were published for comparable products from 2024 to 2026. */
let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const hasOathtool = spawnSync('oathtool', ['--version']).status === 0;

it.skipIf(!hasOathtool)('a TOTP code is not accepted again in another spelling', async () => {
  const person = await register(service);
  const key = person.accessToken;
  const begun = await service.call('POST', '/api/auth/second-factors/totp', { key, body: { name: 'phone' } });
  const codeOf = (seconds: number) => {
    const at = new Date(Date.now() + seconds * 1000).toISOString();
    return execFileSync('oathtool', ['--totp', '--base32', '--now', at, begun.body.secret as string])
      .toString()
      .trim();
  };
  const confirm = `/api/auth/second-factors/totp/${begun.body.id}/confirm`;
  const code = codeOf(0);
  expect((await service.call('POST', confirm, { key, body: { code } })).status).toBe(200);
  const spaced = code.split('').join(' ');
  const fullWidth = code
    .split('')
    .map((digit) => String.fromCodePoint(0xff10 + Number(digit)))
    .join('');
  for (const totp of [code, ` ${code}`, `${code}\t`, spaced, `\u00A0${code}`, fullWidth, `0${code}`, `+${code}`]) {
    const { status } = await service.call('POST', '/api/auth/login', {
      body: { email: person.email, password: person.password, totp },
    });
    expect([400, 401, 429]).toContain(status);
  }
});

it('guesses against one account count together, however its address is written', async () => {
  const { email } = await register(service);
  const [name = '', host = ''] = email.split('@');
  const spellings = [
    email,
    email.toUpperCase(),
    `${name.toUpperCase()}@${host}`,
    ` ${email}`,
    `${email} `,
    `${name}@${host.toUpperCase()}`,
  ];
  const answers = [];
  for (let i = 0; i < 18; i += 1)
    answers.push(await login(service, spellings[i % spellings.length] ?? email, 'a wrong password'));
  // A variant that is not a valid email address is rejected before the lookup.
  expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
});

it('a used refresh token is not accepted after a restart', async () => {
  const first = await register(service);
  const refresh = (where: Service) =>
    where.call('POST', '/api/auth/refresh', { body: { refresh_token: first.refreshToken } });
  const { body: second } = await refresh(service);
  const restarted = await stage.start({ role: 'api' });
  assertProblem(await refresh(restarted), { status: 401, code: 'auth.bad-refresh-token' });
  expect((await me(restarted, second.access_token as string)).status).toBe(401);
  await restarted.kill('SIGKILL');
});

it('lists accept only their own filter parameters, not columns such as password hashes', async () => {
  for (const query of [
    'q=password_hash=~a',
    'sort=password_hash',
    'passwordHash=x',
    'filter[password_hash]=x',
    'fields=password_hash',
  ]) {
    const answer = await service.call('GET', `/api/settings/users?${query}`, { key: apiKey });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).not.toContain('$argon2');
  }
});

it('a read-only key cannot read data of its owner, nor secrets in the audit log', async () => {
  const { key } = await newApiKey(service, apiKey, ['hosts:read']);
  for (const [method, path] of [
    ['GET', '/api/auth/sessions'],
    ['POST', '/api/auth/password'],
    ['GET', '/api/auth/second-factors'],
  ] as const)
    assertProblem(await service.call(method, path, { key, body: method === 'POST' ? {} : undefined }), {
      status: 403,
      code: 'auth.person-needed',
    });
  const [row] = await stage.sql<{ count: number }>(
    `SELECT count(*)::int FROM audit_entry e WHERE e::text LIKE '%' || $1 || '%'`,
    [key.split('_').at(-1)],
  );
  expect(row?.count).toBe(0);
});

it.skipIf(!hasOathtool)(
  'a second factor is required however the address is written, and a look-alike address does not become another account',
  async () => {
    const person = await register(service, 'factor');
    const body = { name: 'phone' };
    const begun = await service.call('POST', '/api/auth/second-factors/totp', { key: person.accessToken, body });
    const code = execFileSync('oathtool', ['--totp', '--base32', begun.body.secret as string])
      .toString()
      .trim();
    const confirm = `/api/auth/second-factors/totp/${begun.body.id}/confirm`;
    expect((await service.call('POST', confirm, { key: person.accessToken, body: { code } })).status).toBe(200); // prettier-ignore
    const [name = '', host = ''] = person.email.split('@');
    const same = [
      person.email.toUpperCase(),
      ` ${person.email}`,
      `${person.email}\u00a0`,
      `\uff46${person.email.slice(1)}`,
    ];
    for (const email of same) {
      const answer = await login(service, email, person.password);
      expect([email, answer.body.code]).toEqual([email, 'auth.second-factor-needed']);
    }
    const invisible = ['\u200b', '\u00ad', '\u2060', '\ufeff', '\u3164', '\ufe0f', '\u034f', '\u{e0020}'];
    const looksSame = [
      ...same,
      ...invisible.flatMap((one) => [`${name}${one}@${host}`, `${person.email}${one}`]),
      `"${name}"@${host}`,
    ];
    for (const email of looksSame) {
      const { status } = await service.call('POST', '/api/auth/register', {
        body: { email, password: person.password },
      });
      expect([email, [400, 409].includes(status)]).toEqual([email, true]);
      if (same.includes(email)) continue;
      const invited = await service.call('POST', '/api/settings/invitations', { key: apiKey, body: { email, roles: ['viewer'] } }); // prettier-ignore
      expect([email, invited.status]).toEqual([email, 400]);
    }
  },
);

it('introspection never reports a token as active after its session ended, wherever and however recently', async () => {
  const client = await makeClient(service, apiKey, ['sign:read']);
  const credentials = { client_id: client.client_id, client_secret: client.client_secret };
  const isActive = async (token: string) =>
    (await postForm(service, '/oauth/introspect', { token, ...credentials })).body.active as boolean;
  const newToken = async () => {
    const { body } = await postForm(service, '/oauth/token', { grant_type: 'client_credentials', ...credentials });
    expect(await isActive(body.access_token)).toBe(true);
    return body.access_token as string;
  };
  // Ends the session in the database, as if another process had ended the session and the notification had been lost.
  const elsewhere = await newToken();
  const { sid } = JSON.parse(Buffer.from(elsewhere.split('.')[1] ?? '', 'base64url').toString());
  await stage.sql('UPDATE auth_session SET ended_at = now(), seal = NULL WHERE id = $1', [sid]);
  expect(await isActive(elsewhere)).toBe(false);
  const revoked = await newToken();
  await postForm(service, '/oauth/revoke', { token: revoked, ...credentials });
  expect(await isActive(revoked)).toBe(false);
  const person = await register(service);
  expect([await isActive(person.accessToken), await isActive(person.refreshToken)]).toEqual([true, false]);
  await service.call('POST', '/api/auth/logout', { key: person.accessToken });
  expect(await isActive(person.accessToken)).toBe(false);
  const other = await makeClient(service, apiKey, ['sign:read']);
  const { body: ofOther } = await postForm(service, '/oauth/token', { grant_type: 'client_credentials', client_id: other.client_id, client_secret: other.client_secret }); // prettier-ignore
  expect(await isActive(ofOther.access_token)).toBe(true);
  await service.call('DELETE', `/api/settings/oauth-clients/${other.client_id}`, { key: apiKey });
  expect(await isActive(ofOther.access_token)).toBe(false);
});
