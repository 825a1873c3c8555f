import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inDays, newApiKey } from '../support/access.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { deviceGrant, makeClient, postForm } from './oauth-calls.js';
import { idOf, login, newPassword, register } from './people.js';

const CLI = join(import.meta.dirname, '../../dist/cli.js');
const ADDRESS = 'chief@example.com';
let stage: Stage;
let service: Service;

beforeAll(async () => {
  stage = await openStage();
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `sealwright-admin` with the stage's stores and the given standard input. */
function admin(args: readonly string[], input = ''): Promise<Run> {
  const child = spawn(process.execPath, [CLI, ...args], { env: { ...process.env, ...stage.settings } });
  child.stdin.end(input);
  const parts = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (parts.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (parts.err += chunk.toString()));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code: code ?? -1, ...parts })));
}

const health = async () => (await service.call('GET', '/actuator/health', {})).body;
const auditOf = async (action: string) =>
  stage.sql<{ actor_kind: string; actor_name: string; detail: object }>(
    `SELECT actor_kind, actor_name, detail FROM audit_entry WHERE action = $1 ORDER BY at DESC`,
    [action],
  );
const OPERATOR = { actor_kind: 'system', actor_name: 'operator (command line)' };

describe('an installation without a usable account', () => {
  it('reports at startup, in health and in doctor that there is no user', async () => {
    expect(service.log()).toMatch(/There are no users, so nobody can sign in/);
    expect((await health()).components.administrators.status).toBe('UNKNOWN');
    const { out, code } = await admin(['doctor', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toContainEqual(
      expect.objectContaining({ what: 'administrators', state: 'bad', next: 'runbook: administrators' }),
    );
  });

  it('gets an administrator through `user create`, which reads the password from standard input only', async () => {
    const password = newPassword();
    const weak = await admin(['user', 'create', ADDRESS, '--role', 'admin'], 'password1234\n');
    expect(weak).toMatchObject({ code: 1, err: expect.stringContaining('This password is not accepted') as string });
    const made = await admin(['user', 'create', ADDRESS, '--role', 'admin'], `${password}\n`);
    expect(made).toMatchObject({ code: 0 });
    expect(made.out + made.err).not.toContain(password);
    const signedIn = await login(service, ADDRESS, password);
    expect(signedIn.status).toBe(200);
    expect((await auditOf('user.created'))[0]).toMatchObject({ ...OPERATOR, detail: { roles: ['admin'] } });
    expect((await health()).components.administrators.status).toBe('UP');
    const again = await admin(['user', 'create', ADDRESS, '--role', 'admin'], `${password}\n`);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining(ADDRESS) as string });
  });

  it('restores its administrator with `user grant` and a one-time link of `user reset-password`', async () => {
    const id = await idOf(stage, ADDRESS);
    await stage.change(
      `UPDATE user_account SET disabled = true, roles = '{viewer}', password_hash = NULL WHERE id = $1`,
      [id],
    );
    expect((await health()).components.administrators.status).toBe('DOWN');
    expect(await admin(['user', 'grant', ADDRESS, 'admin'])).toMatchObject({ code: 0 });
    expect((await auditOf('user.changed'))[0]).toMatchObject({
      ...OPERATOR,
      detail: { roles: ['viewer', 'admin'], disabled: false },
    });
    const { out } = await admin(['user', 'reset-password', ADDRESS, '--link']);
    const token = /#reset=(\w+)/.exec(out)?.[1] ?? '';
    const password = newPassword();
    const reset = { body: { token, password } };
    expect((await service.call('POST', '/api/auth/password/reset', reset)).status).toBe(204);
    expect((await service.call('POST', '/api/auth/password/reset', reset)).status).toBe(422);
    expect((await login(service, ADDRESS, password)).status).toBe(200);
    expect((await auditOf('user.password-reset-issued'))[0]).toMatchObject(OPERATOR);
  });

  it('can reset a password, which ends sessions, and second factors', async () => {
    const { email, accessToken } = await register(service);
    const id = await idOf(stage, email);
    const factor = await service.call('POST', '/api/auth/second-factors/totp', {
      key: accessToken,
      body: { name: 'x' },
    });
    expect(factor.status).toBe(201);
    await stage.change(`UPDATE second_factor SET confirmed_at = now() WHERE user_id = $1`, [id]);
    const password = newPassword();
    expect(await admin(['user', 'reset-password', email], password)).toMatchObject({ code: 0 });
    await expect
      .poll(async () => (await service.call('GET', '/api/auth/me', { key: accessToken })).status, { timeout: 6000 })
      .toBe(401);
    expect((await login(service, email, password)).body.code).toBe('auth.second-factor-needed');
    expect(await admin(['user', 'reset-factor', email])).toMatchObject({ code: 0 });
    expect((await login(service, email, password)).status).toBe(200);
    for (const action of ['user.password-changed', 'second-factor.reset'])
      expect((await auditOf(action))[0]).toMatchObject(OPERATOR);
  });

  it('can disable an uncooperative administrator, even the last one', async () => {
    const stubborn = await register(service, 'stubborn');
    await stage.change(`UPDATE user_account SET roles = '{}' WHERE email <> $1`, [stubborn.email]);
    await stage.change(`UPDATE user_account SET roles = '{admin}' WHERE email = $1`, [stubborn.email]);
    const { out, code } = await admin(['user', 'disable', stubborn.email]);
    expect({ out, code }).toMatchObject({ out: expect.stringContaining('Disabled') as string, code: 0 });
    expect((await login(service, stubborn.email, stubborn.password)).status).toBe(401);
    await stage.change(`UPDATE user_account SET roles = '{admin}' WHERE email = $1`, [ADDRESS]);
  });

  it.each([
    ['a password among the arguments', ['user', 'create', ADDRESS, 'secret-of-mine', '--role', 'admin']],
    ['an unknown role', ['user', 'grant', ADDRESS, 'root']],
    ['no role', ['user', 'create', 'new@example.com']],
    ['no address', ['user', 'reset-factor']],
    ['an unknown command', ['user', 'remove', ADDRESS]],
  ])('rejects %s before it opens any store', async (_, args) => {
    expect((await admin(args, 'x\n')).code).toBe(2);
  });
});

describe('doctor lists what people left behind', () => {
  it('if its creator lost the required right, until somebody else saves it', async () => {
    const [chief, leaver] = ['keeper@example.com', 'leaver@example.com'];
    const tokens: Record<string, string> = {};
    for (const address of [chief, leaver]) {
      const password = newPassword();
      expect((await admin(['user', 'create', address, '--role', 'admin'], `${password}\n`)).code).toBe(0);
      tokens[address] = (await login(service, address, password)).body.access_token as string;
    }
    const rule = { name: 'expiring', condition: 'certificate-expiring', parameters: { days: 30 } };
    const made = await service.call('POST', '/api/alert-rules', { key: tokens[leaver], body: rule });
    expect(made.status).toBe(201);
    const found = async () =>
      (JSON.parse((await admin(['doctor', '--json'])).out) as { what: string }[]).filter(
        ({ what }) => what === 'left behind',
      );
    expect(await found()).toMatchObject([{ state: 'ok' }]);
    await service.call('PATCH', `/api/settings/users/${await idOf(stage, leaver)}`, {
      key: tokens[chief],
      body: { roles: ['viewer'] },
    });
    const detail = `the alert rule "expiring" was last changed by ${leaver}, who no longer has the right`;
    expect(await found()).toMatchObject([{ state: 'warn', detail }]);
    const path = `/api/alert-rules/${made.body.id as string}`;
    const taken = await service.call('PATCH', path, {
      key: tokens[chief],
      body: { severity: 'critical' },
      headers: { 'if-match': '"1"' },
    });
    expect(taken.status).toBe(200);
    expect(await found()).toMatchObject([{ state: 'ok' }]);
  });

  interface Tokens {
    readonly owner: string;
    readonly password: string;
    readonly leaver: string;
  }
  /** Returns an API key that belongs to the owner and whose secret the leaver has seen. */
  const shownKey = async ({ owner, leaver }: Tokens): Promise<string> => {
    const { id } = await newApiKey(service, owner, ['admin:*']);
    const rotate = { key: leaver, body: { expiry: inDays(1), overlapHours: 0 } };
    return (await service.call('POST', `/api/settings/api-keys/${id}/rotate`, rotate)).body.key;
  };
  /** Returns a token for the owner's session at the leaver's client. */
  const sessionInClient = async ({ owner, password, leaver }: Tokens): Promise<string> => {
    const client = await makeClient(service, leaver, ['admin:*']);
    const { body: device } = await postForm(service, '/oauth/device_authorization', { ...client });
    await service.call('POST', `/api/auth/device/${device.user_code}/approve`, { key: owner, body: {} });
    const grant = { ...deviceGrant(client, device.device_code), ...client };
    const { access_token: key } = (await postForm(service, '/oauth/token', grant)).body;
    await service.call('POST', '/api/auth/step-up', { key, body: { password } });
    return key;
  };

  it.each([
    ['with an API key of another person that was shown to them', 'shown', shownKey, /by the API key "[^"]+", using/],
    ['in the session of another person in their client', 'team', sessionInClient, /by owner-[^"]+, using/],
  ])('if it was created %s', async (_how, name, keyOf, by) => {
    const [owner, leaver] = [`owner-${randomUUID()}@example.com`, `guest-${randomUUID()}@example.com`];
    const password = newPassword();
    const tokens: string[] = [];
    for (const address of [owner, leaver]) {
      expect((await admin(['user', 'create', address, '--role', 'admin'], `${password}\n`)).code).toBe(0);
      tokens.push((await login(service, address, password)).body.access_token as string);
    }
    const [ownerToken = '', leaverToken = ''] = tokens;
    const key = await keyOf({ owner: ownerToken, password, leaver: leaverToken });
    const rule = { name, condition: 'certificate-expiring', parameters: { days: 30 } };
    const ruled = await service.call('POST', '/api/alert-rules', { key, body: rule });
    expect(ruled.status).toBe(201);
    const disable = { key: ownerToken, body: { disabled: true } };
    const person = `/api/settings/users/${await idOf(stage, leaver)}`;
    expect((await service.call('PATCH', person, disable)).status).toBe(200);
    const findings = JSON.parse((await admin(['doctor', '--json'])).out) as { what: string; detail: string }[];
    const left = findings.filter(({ what }) => what === 'left behind').map(({ detail }) => detail);
    const [about] = left.filter((detail) => detail.startsWith(`the alert rule "${name}" was last changed by `));
    expect(about).toMatch(by);
    expect(about).toMatch(/, using a credential shown to a user who no longer has the right$/);
  });
});
