import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { idOf, login, me, type Person, register } from './people.js';

const hasOathtool = spawnSync('oathtool', ['--version']).status === 0;

let stage: Stage;
let service: Service;
let other: Service;

beforeAll(async () => {
  stage = await openStage();
  service = await stage.start({ role: 'api' });
  other = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

/** Returns the TOTP code that an authenticator app shows `seconds` from now. */
function codeOf(secret: string, seconds = 0): string {
  const at = new Date(Date.now() + seconds * 1000).toISOString();
  return execFileSync('oathtool', ['--totp', '--base32', '--now', at, secret]).toString().trim();
}

const timeStep = () => Math.floor(Date.now() / 30_000);

interface Enrolled extends Person {
  readonly secret: string;
  readonly factor: string;
  readonly recoveryCodes: string[];
}

/** Registers a person with an authenticator app, confirmed with the code of the previous time step. */
async function enrol(): Promise<Enrolled> {
  const person = await register(service);
  const key = person.accessToken;
  const begun = await service.call('POST', '/api/auth/second-factors/totp', { key, body: { name: 'phone' } });
  const confirm = `/api/auth/second-factors/totp/${begun.body.id}/confirm`;
  let confirmed: Answer;
  let asked: number;
  do {
    asked = timeStep();
    const code = codeOf(begun.body.secret, -30);
    confirmed = await service.call('POST', confirm, { key, body: { code } });
    // Retries, because the code of the previous time step expires if the current time step ends before the request.
  } while (confirmed.status !== 200 && timeStep() !== asked);
  expect(confirmed.status).toBe(200);
  const { recoveryCodes } = confirmed.body;
  return { ...person, secret: begun.body.secret, factor: begun.body.id, recoveryCodes };
}

const loginWith = (person: Person, factors: object, where = service): Promise<Answer> =>
  where.call('POST', '/api/auth/login', { body: { email: person.email, password: person.password, ...factors } });

describe.skipIf(!hasOathtool)('an authenticator app', () => {
  it('is required once it is confirmed, not before', async () => {
    const person = await register(service);
    await service.call('POST', '/api/auth/second-factors/totp', { key: person.accessToken, body: { name: 'phone' } });
    expect((await login(service, person.email, person.password)).status).toBe(200);
    const enrolled = await enrol();
    assertProblem(await loginWith(enrolled, {}), { status: 401, code: 'auth.second-factor-needed' });
    expect((await loginWith(enrolled, { totp: codeOf(enrolled.secret) })).status).toBe(200);
  });

  it('accepts a code with the spaces that apps display', async () => {
    const person = await enrol();
    const code = codeOf(person.secret);
    assertProblem(await loginWith(person, { totp: `${code} 1` }), { status: 400, code: 'request.invalid' });
    expect((await loginWith(person, { totp: `${code.slice(0, 3)} ${code.slice(3)}\n` })).status).toBe(200);
  });

  it('is not mentioned to somebody with a wrong password', async () => {
    const { email } = await enrol();
    assertProblem(await login(service, email, 'a wrong password'), { status: 401, code: 'auth.wrong-credentials' });
  });

  it('accepts one of ten concurrent uses of a code in two processes', async () => {
    const person = await enrol();
    const totp = codeOf(person.secret);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => loginWith(person, { totp }, i % 2 === 0 ? service : other)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    assertProblem(await loginWith(person, { totp }), { status: 401, code: 'auth.wrong-code' });
  });

  it('does not accept an earlier code after a later one', async () => {
    const person = await enrol();
    expect((await loginWith(person, { totp: codeOf(person.secret, 30) })).status).toBe(200);
    assertProblem(await loginWith(person, { totp: codeOf(person.secret) }), { status: 401, code: 'auth.wrong-code' });
  });

  it('does not accept codes of other times', async () => {
    const person = await enrol();
    for (const seconds of [-90, 90, 3600]) {
      const totp = codeOf(person.secret, seconds);
      assertProblem(await loginWith(person, { totp }), { status: 401, code: 'auth.wrong-code' });
    }
  });

  it('resists guessing: a correct password does not reset the count of wrong codes', async () => {
    const person = await enrol();
    const answers: Answer[] = [];
    for (let i = 0; i < 13; i += 1) answers.push(await loginWith(person, { totp: '000000' }));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  });

  it('has its seed sealed in the database', async () => {
    const { secret, factor } = await enrol();
    const [row] = await stage.sql<{ seed: string }>(
      `SELECT encode(seed, 'escape') AS seed FROM second_factor WHERE id = $1`,
      [factor],
    );
    expect(row?.seed).not.toContain(secret);
    // The TOTP seed is sealed for its row and cannot be decrypted as part of another row.
    const thief = await enrol();
    await stage.change(`UPDATE second_factor SET seed = (SELECT seed FROM second_factor WHERE id = $1) WHERE id = $2`, [
      factor,
      thief.factor,
    ]);
    const refused = await loginWith(thief, { totp: codeOf(secret) });
    expect([refused.status, refused.body.code]).toEqual([409, 'hsm.not-authentic']);
  });

  it('cannot be removed or confirmed by another person', async () => {
    const person = await enrol();
    const stranger = await register(service);
    const gone = await service.call('DELETE', `/api/auth/second-factors/${person.factor}`, {
      key: stranger.accessToken,
    });
    assertProblem(gone, { status: 404, code: 'second-factor.missing' });
  });
});

describe.skipIf(!hasOathtool)('a removed authenticator app', () => {
  it('is not accepted again when its row and the earlier account row are restored', async () => {
    const person = await enrol();
    const id = await idOf(stage, person.email);
    const kept = `SELECT to_jsonb(u) AS account, to_jsonb(f) AS factor FROM user_account u JOIN second_factor f ON f.user_id = u.id WHERE u.id = $1`;
    const [earlier] = await stage.sql<{ account: object; factor: object }>(kept, [id]);
    const path = `/api/auth/second-factors/${person.factor}`;
    expect((await service.call('DELETE', path, { key: person.accessToken })).status).toBe(204);
    await stage.sql('DELETE FROM user_account WHERE id = $1', [id]);
    const insert = (table: string, row: object | undefined) =>
      stage.sql(`INSERT INTO ${table} SELECT * FROM jsonb_populate_record(NULL::${table}, $1)`, [JSON.stringify(row)]);
    await insert('user_account', earlier?.account);
    await insert('second_factor', earlier?.factor);
    // The other process has not read the later row of the account. Each process reads the audit log at least every five seconds.
    const attempt = async () =>
      (await loginWith(person, { totp: codeOf(person.secret, 30) }, other)).body.code as string;
    await expect.poll(attempt, { timeout: 20_000, interval: 2000 }).toBe('auth.wrong-credentials');
  });
});

describe.skipIf(!hasOathtool)('a recovery code', () => {
  it('works once, even if sent twice concurrently', async () => {
    const person = await enrol();
    expect(person.recoveryCodes).toHaveLength(10);
    const recoveryCode = person.recoveryCodes[0];
    const answers = await Promise.all(Array.from({ length: 5 }, () => loginWith(person, { recoveryCode })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const lower = person.recoveryCodes[1]?.toLowerCase().replaceAll('-', ' ');
    expect((await loginWith(person, { recoveryCode: lower })).status).toBe(200);
  });

  it('is not accepted for another person', async () => {
    const [one, two] = [await enrol(), await enrol()];
    const answer = await loginWith(one, { recoveryCode: two.recoveryCodes[0] });
    assertProblem(answer, { status: 401, code: 'auth.wrong-code' });
  });
});

describe('step-up', () => {
  const order = () => ({ name: 'new', permissions: ['sign:read'], expiry: new Date(Date.now() + 3.6e6).toISOString() });

  it('is required when the sign-in is older than five minutes, and is then valid in every process', async () => {
    const person = await register(service);
    await stage.change(`UPDATE user_account SET roles = '{admin}' WHERE email = $1`, [person.email]);
    const key = (await login(service, person.email, person.password)).body.access_token;
    expect((await service.call('POST', '/api/settings/api-keys', { key, body: order() })).status).toBe(201);
    const { body } = await me(service, key);
    await stage.change(`UPDATE auth_session SET authenticated_at = now() - interval '6 minutes' WHERE id = $1`, [
      body.session,
    ]);
    const refused = await other.call('POST', '/api/settings/api-keys', { key, body: order() });
    assertProblem(refused, { status: 403, code: 'auth.step-up' });
    const id = randomUUID();
    for (const [method, path] of [
      ['POST', `/v1/keys/${id}/private-key`],
      ['PATCH', `/api/webhooks/${id}`],
    ] as const)
      assertProblem(await other.call(method, path, { key, body: {} }), { status: 403, code: 'auth.step-up' });
    expect((await me(other, key)).status).toBe(200);
    const wrong = await service.call('POST', '/api/auth/step-up', { key, body: { password: 'not the password' } });
    assertProblem(wrong, { status: 401, code: 'auth.wrong-credentials' });
    const stepped = await service.call('POST', '/api/auth/step-up', { key, body: { password: person.password } });
    expect(stepped.status).toBe(204);
    for (const where of [service, other]) {
      expect((await where.call('POST', '/api/settings/api-keys', { key, body: order() })).status).toBe(201);
    }
  });

  it.skipIf(!hasOathtool)('requires the second factor of a person who has one', async () => {
    const person = await enrol();
    const id = await idOf(stage, person.email);
    const step = (body: object) =>
      service.call('POST', '/api/auth/step-up', {
        key: person.accessToken,
        body: { password: person.password, ...body },
      });
    assertProblem(await step({}), { status: 401, code: 'auth.second-factor-needed' });
    expect((await step({ totp: codeOf(person.secret) })).status).toBe(204);
    const rows = await stage.sql<{ methods: string[] }>(`SELECT methods FROM auth_session WHERE user_id = $1`, [id]);
    expect(rows).toEqual([{ methods: ['pwd', 'otp', 'mfa'] }]);
  });
});
