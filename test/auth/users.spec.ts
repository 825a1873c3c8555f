import { DEVELOPMENT_JWT_SECRET } from '../../src/platform/config/config.js';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SmtpPeer } from '../fakes/smtp.js';
import { accessToken } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { idOf, login, me, newPassword, register } from './people.js';

const smtp = new SmtpPeer();
let stage: Stage;
let service: Service;
let apiKey: string;
/** All services in this file share a sealing secret, because one process may send an email that another process queued. */
/** The seed's rows are sealed with the previous secret. */
const settings = () => ({
  ...smtp.settings,
  SVC_JWT_SECRET: 'a secret of this very test, long enough',
  SVC_JWT_SECRET_PREVIOUS: DEVELOPMENT_JWT_SECRET,
});
let admin: { email: string; password: string; token: string };

beforeAll(async () => {
  await smtp.start();
  stage = await openStage();
  const seeded = await stage.seed();
  apiKey = seeded.apiKey;
  service = await stage.start({ settings: settings() });
  const token = await accessToken(service, seeded.adminEmail, seeded.adminPassword);
  admin = { email: seeded.adminEmail, password: seeded.adminPassword, token };
});
afterAll(async () => {
  await stage.close();
  await smtp.stop();
});

const USERS = '/api/settings/users';
const patch = (id: string, body: object, key = admin.token) => service.call('PATCH', `${USERS}/${id}`, { key, body });
const invite = (email: string, roles: string[], key = admin.token) =>
  service.call('POST', '/api/settings/invitations', { key, body: { email, roles } });
const tokenIn = (text: string, purpose: string) => new RegExp(`#${purpose}=(\\S+)`).exec(text)?.[1] ?? '';

/** Waits for the `nth` invitation sent to an address and returns its token. */
async function inMail(address: string, nth = 1): Promise<string> {
  const mails = await until('the mail', 30, async () => {
    const found = smtp.received.filter(({ to, subject }) => to === address && subject.includes('invitation'));
    return found.length >= nth ? found : undefined;
  });
  return tokenIn(mails[nth - 1]?.text ?? '', 'invitation');
}

describe('an invitation', () => {
  it('arrives by email and creates an account with its roles, once, including in prod', async () => {
    const prod = await stage.start({ role: 'api', settings: { ...settings(), SVC_PROFILE: 'prod' } });
    const token = await accessToken(prod, admin.email, admin.password);
    const body = { email: 'Invited@Example.org', roles: ['operator'] };
    const made = await prod.call('POST', '/api/settings/invitations', { key: token, body });
    expect(made.status).toBe(201);
    const { text, from } = await smtp.mailTo('invited@example.org', 'invitation');
    expect(from).toBe('no-reply@sealwright.example');
    // When invitations are sent by email, only the recipient sees the link.
    expect(made.body.link).toBeUndefined();
    expect(JSON.stringify(made.body)).not.toContain('sw_mail');
    const newcomer = { email: 'invited@example.org', password: newPassword(), invitation: tokenIn(text, 'invitation') };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => prod.call('POST', '/api/auth/register', { body: newcomer })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const { body: who } = await me(prod, answers.find(({ status }) => status === 201)?.body.access_token);
    expect(who.scopes).toContain('sign:digest');
    await prod.kill('SIGKILL');
  });

  it('is valid for its own address only, and not after it was revoked or has expired', async () => {
    const { body } = await invite('guest@example.org', ['viewer']);
    const use = (email: string, invitation: string) =>
      service.call('POST', '/api/auth/register', { body: { email, password: newPassword(), invitation } });
    const token = await inMail('guest@example.org');
    assertProblem(await use('thief@example.org', token), { status: 422, code: 'invitation.unusable' });
    await service.call('DELETE', `/api/settings/invitations/${body.id}`, { key: admin.token });
    assertProblem(await use('guest@example.org', token), { status: 422, code: 'invitation.unusable' });
    expect((await invite('guest@example.org', ['viewer'])).status).toBe(201);
    const again = await inMail('guest@example.org', 2);
    await stage.change(`UPDATE invitation SET expires_at = now() - interval '1 s' WHERE email = 'guest@example.org'`);
    assertProblem(await use('guest@example.org', again), { status: 422, code: 'invitation.unusable' });
  });

  it('ends when its creator is demoted or disabled, or used a key that was revoked', async () => {
    const inviter = await register(service);
    const id = await idOf(stage, inviter.email);
    const use = (email: string, invitation: string) =>
      service.call('POST', '/api/auth/register', { body: { email, password: newPassword(), invitation } });
    const unusable = { status: 422, code: 'invitation.unusable' };
    const ends: [string, () => Promise<unknown>][] = [
      ['lowered', () => patch(id, { roles: ['operator'] })],
      ['disabled', () => patch(id, { disabled: true })],
    ];
    for (const [name, end] of ends) {
      await patch(id, { roles: ['admin'], disabled: false });
      const email = `by-${name}@example.org`;
      const token = await accessToken(service, inviter.email, inviter.password);
      const { body } = await invite(email, ['admin'], token);
      const invitation = await inMail(email);
      await end();
      const open = (await service.call('GET', '/api/settings/invitations', { key: admin.token })).body.items;
      expect(open.map((row: { id: string }) => row.id)).not.toContain(body.id);
      assertProblem(await use(email, invitation), unusable);
      await patch(id, { roles: ['admin'], disabled: false });
      assertProblem(await use(email, invitation), unusable);
    }
    await patch(id, { roles: ['viewer'] });
    const keys = { name: 'inviter', permissions: ['admin:*'], expiry: new Date(Date.now() + 3.6e6) };
    const { body: key } = await service.call('POST', '/api/settings/api-keys', { key: apiKey, body: keys });
    await invite('by-key@example.org', ['operator'], key.key);
    const invitation = await inMail('by-key@example.org');
    await service.call('DELETE', `/api/settings/api-keys/${key.id}`, { key: apiKey });
    assertProblem(await use('by-key@example.org', invitation), unusable);
  });

  it('is checked again when it is accepted, whatever the list says', async () => {
    const inviter = await register(service);
    const id = await idOf(stage, inviter.email);
    await patch(id, { roles: ['admin'] });
    const token = await accessToken(service, inviter.email, inviter.password);
    await invite('by-row@example.org', ['auditor'], token);
    const invitation = await inMail('by-row@example.org');
    await stage.change(`UPDATE user_account SET roles = '{viewer}' WHERE id = $1`, [id]);
    const body = { email: 'by-row@example.org', password: newPassword(), invitation };
    const unusable = { status: 422, code: 'invitation.unusable' };
    assertProblem(await service.call('POST', '/api/auth/register', { body }), unusable);
    await stage.change(`UPDATE user_account SET roles = '{admin}' WHERE id = $1`, [id]);
    expect((await service.call('POST', '/api/auth/register', { body })).status).toBe(201);
    await patch(id, { roles: ['viewer'] });
  });

  it('cannot grant what the inviter does not hold', async () => {
    const person = await register(service);
    const keys = { name: 'inviter', permissions: ['users:write', 'users:read'], expiry: new Date(Date.now() + 3.6e6) };
    const { body } = await service.call('POST', '/api/settings/api-keys', { key: apiKey, body: keys });
    assertProblem(await invite('boss@example.org', ['admin'], body.key), { status: 403, code: 'user.beyond-caller' });
    const id = await idOf(stage, person.email);
    assertProblem(await patch(id, { roles: ['admin'] }, body.key), { status: 403, code: 'user.beyond-caller' });
    const adminId = await idOf(stage, admin.email);
    assertProblem(await patch(adminId, { disabled: true }, body.key), { status: 403, code: 'user.beyond-caller' });
    assertProblem(await patch(id, { roles: ['admin'] }, person.accessToken), {
      status: 403,
      code: 'insufficient_scope',
    });
  });
});

describe('a forgotten password', () => {
  const forgot = (email: string) => service.call('POST', '/api/auth/password/forgot', { body: { email } });
  const reset = (token: string, password: string) =>
    service.call('POST', '/api/auth/password/reset', { body: { token, password } });

  it('is replaced through the link in the email, once; other sessions end, and the owner gets an email', async () => {
    const person = await register(service);
    expect((await forgot(person.email)).status).toBe(202);
    const token = tokenIn((await smtp.mailTo(person.email, 'new password')).text, 'reset');
    assertProblem(await reset(token, 'password1234'), { status: 422, code: 'password.weak' });
    const next = newPassword();
    const answers = await Promise.all(Array.from({ length: 5 }, () => reset(token, next)));
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    assertProblem(await reset(token, newPassword()), { status: 422, code: 'password.reset-link' });
    expect((await me(service, person.accessToken)).status).toBe(401);
    expect((await login(service, person.email, person.password)).status).toBe(401);
    expect((await login(service, person.email, next)).status).toBe(200);
    await smtp.mailTo(person.email, 'Your password was changed');
  });

  it('gets the same response for an unknown address, and no email is sent', async () => {
    const known = await register(service);
    const answers = [await forgot(known.email), await forgot('nobody@example.org')];
    expect(answers[0]?.status).toBe(answers[1]?.status);
    expect(answers[0]?.body).toEqual(answers[1]?.body);
    await smtp.mailTo(known.email, 'new password');
    expect(smtp.received.some(({ to }) => to === 'nobody@example.org')).toBe(false);
  });

  it('cannot be used to flood a mailbox', async () => {
    const { email } = await register(service);
    const answers = await Promise.all(Array.from({ length: 8 }, () => forgot(email)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(4);
  });
});

describe('emails', () => {
  it('wait while the SMTP server is down, and none is lost', async () => {
    await smtp.stop();
    const addresses = Array.from({ length: 12 }, (_, i) => `late-${i}@example.org`);
    for (const address of addresses) expect((await invite(address, ['viewer'])).status).toBe(201);
    await until('a failure is noted', 30, async () => {
      const [row] = await stage.sql<{ failed: string }>(
        `SELECT count(*) AS failed FROM mail_message WHERE failure IS NOT NULL AND sent_at IS NULL`,
      );
      return Number(row?.failed) > 0;
    });
    await service.kill('SIGKILL');
    await smtp.start();
    service = await stage.start({ settings: settings() });
    await stage.sql(`UPDATE mail_message SET next_try_at = now() WHERE sent_at IS NULL`);
    for (const address of addresses) await smtp.mailTo(address, 'invitation');
    await until('no body is left once the server has the mail', 30, async () => {
      const left = await stage.sql(`SELECT id FROM mail_message WHERE recipient LIKE 'late-%' AND body IS NOT NULL`);
      return left.length === 0;
    });
  });

  it('contain no link that can be read in the database or in the log', async () => {
    await smtp.stop();
    await invite('sealed@example.org', ['viewer']);
    const rows = await stage.sql<{ bytes: string }>(
      `SELECT encode(body, 'escape') AS bytes FROM mail_message WHERE recipient = 'sealed@example.org'`,
    );
    expect(rows).toHaveLength(1);
    const [row] = await stage.sql<{ dump: string }>(`SELECT string_agg(i::text, ' ') AS dump FROM invitation i`);
    await smtp.start();
    await stage.sql(`UPDATE mail_message SET next_try_at = now() WHERE sent_at IS NULL`);
    const secret = (await inMail('sealed@example.org')).split('_')[2] ?? '';
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(rows[0]?.bytes).not.toContain(secret);
    expect(row?.dump).not.toContain(secret);
    expect(service.log()).not.toContain(secret);
  });

  it('are not delivered in clear text where TLS is required', async () => {
    await stage.sql(`DELETE FROM mail_message WHERE sent_at IS NULL`);
    await service.kill('SIGKILL');
    service = await stage.start({ settings: { ...settings(), SVC_SMTP_TLS: 'required' } });
    await service.call('POST', '/api/auth/password/forgot', { body: { email: admin.email } });
    await until('the refusal is noted', 30, async () => {
      const rows = await stage.sql<{ failure: string | null }>(
        `SELECT failure FROM mail_message WHERE recipient = $1 AND subject LIKE '%new password%' AND failure IS NOT NULL`,
        [admin.email],
      );
      return /TLS/i.test(rows[0]?.failure ?? '');
    });
    expect(smtp.received.filter(({ to }) => to === admin.email)).toEqual([]);
  });
});

describe('administrators', () => {
  // Changes to user accounts require a sign-in within the last five minutes.
  beforeAll(async () => {
    admin.token = await accessToken(service, admin.email, admin.password);
  });

  it('cannot remove the last administrator, not even two at once', async () => {
    const person = await register(service);
    const [second, first] = [await idOf(stage, person.email), await idOf(stage, admin.email)];
    const noMore = { status: 409, code: 'user.last-administrator' };
    assertProblem(await patch(first, { roles: ['viewer'] }), noMore);
    assertProblem(await patch(first, { disabled: true }, apiKey), noMore);
    // A role that was granted by SQL does not make a person an administrator.
    const [{ roles } = { roles: [] }] = await stage.sql<{ roles: string[] }>(
      `SELECT roles FROM user_account WHERE id = $1`,
      [second],
    );
    await stage.sql(`UPDATE user_account SET roles = '{admin}' WHERE id = $1`, [second]);
    assertProblem(await patch(first, { roles: ['viewer'] }), noMore);
    await stage.sql(`UPDATE user_account SET roles = $2 WHERE id = $1`, [second, roles]);
    expect((await patch(second, { roles: ['admin'] })).status).toBe(200);
    // Both calls must be in progress before either can change a row.
    const keeper = new Client({ connectionString: stage.databaseUrl });
    await keeper.connect();
    await keeper.query('BEGIN');
    await keeper.query(`SELECT id FROM user_account WHERE id = ANY($1) FOR UPDATE`, [[first, second]]);
    const calls = Promise.all([first, second].map((id) => patch(id, { disabled: true }, apiKey)));
    await until('both wait', 30, async () => {
      const [row] = await stage.sql<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return row?.n === 2;
    });
    await keeper.query('COMMIT');
    await keeper.end();
    const answers = await calls;
    // The second change may fail with 403, because the key may belong to the administrator disabled by the first change.
    const [done, refused] = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(done).toBe(200);
    expect([403, 409]).toContain(refused);
    await stage.change(`UPDATE user_account SET disabled = false, roles = '{admin}' WHERE id = $1`, [first]);
  });

  it('can disable a person, which ends all sessions, and enable them again', async () => {
    const person = await register(service);
    const id = await idOf(stage, person.email);
    expect((await patch(id, { disabled: true }, apiKey)).body.disabled).toBe(true);
    await until('out', 5, async () => (await me(service, person.accessToken)).status === 401);
    expect((await login(service, person.email, person.password)).status).toBe(401);
    expect((await patch(id, { disabled: false }, apiKey)).status).toBe(200);
    expect((await login(service, person.email, person.password)).status).toBe(200);
    expect((await me(service, person.accessToken)).status).toBe(401);
  });

  it('never see a password or its hash', async () => {
    const { body } = await service.call('GET', USERS, { key: apiKey });
    expect(JSON.stringify(body)).not.toMatch(/argon2|password|hash/i);
  });
});
