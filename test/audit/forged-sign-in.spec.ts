import { createHash, randomUUID } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browser } from '../auth/browser.js';
import { atKnownAddress, login, newPassword, PEERS_HERE, type Person, register } from '../auth/people.js';
import { arrive, putQuirky, signInAt } from '../auth/quirky-calls.js';
import { QuirkyProvider } from '../fakes/quirky-openid-provider.js';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';

/** The attacker owns the database but does not have the service's settings, and tries to sign in as another person. */
let stage: Stage;
let service: Service;
let apiKey: string;
let provider: QuirkyProvider;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
  provider = await QuirkyProvider.start();
  provider.is({ claims: { sub: 'mallory', email: 'mallory@example.com', groups: ['release'] } });
  expect((await putQuirky(service, apiKey, { name: 'corp', provider })).status).toBeLessThan(300);
});
afterAll(async () => {
  await stage.close();
  await provider.stop();
});

describe('a sign-in through an identity provider', () => {
  it('does not open the account that SQL linked to the identity', async () => {
    await stage.sql(
      `INSERT INTO external_identity (provider_id, subject, user_id, groups)
       SELECT p.id, 'mallory', u.id, '{release}' FROM identity_provider p, user_account u WHERE 'admin' = ANY(u.roles) LIMIT 1`,
    );
    expect((await arrive(service, 'corp')).code).toBe('row.not-sealed');
    await stage.sql(`DELETE FROM external_identity`);
    expect((await signInAt(service, 'corp'))['access_token']).toBeDefined();
    await stage.sql(
      `UPDATE external_identity SET user_id = (SELECT id FROM user_account WHERE 'admin' = ANY(roles) LIMIT 1)`,
    );
    expect((await arrive(service, 'corp')).code).toBe('row.not-sealed');
  });

  it('does not accept a ticket that SQL moved to another person', async () => {
    provider.is({ claims: { sub: 'trudy', email: 'trudy@example.com', groups: ['release'] } });
    const browser = new Browser();
    const arrived = await arrive(service, 'corp', { browser });
    const ticket = /#ticket=(\w+)$/.exec(arrived.location)?.[1] ?? '';
    await stage.sql(
      `UPDATE sso_transaction SET user_id = (SELECT id FROM user_account WHERE 'admin' = ANY(roles) LIMIT 1) WHERE ticket_hash = $1`,
      [createHash('sha256').update(ticket).digest()],
    );
    const response = await browser.request(`${service.url}/api/auth/sso/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ticket }),
    });
    expect(response.status).toBe(401);
  });

  it('does not start at a provider whose rules or URL SQL changed', async () => {
    for (const change of [
      `rules = '[{"claim": "groups", "op": "equals", "value": "release", "roles": ["admin"]}]'`,
      `settings = jsonb_set(settings, '{issuer}', '"https://evil.example"')`,
    ]) {
      await stage.sql(`CREATE TABLE IF NOT EXISTS kept_provider AS SELECT * FROM identity_provider`);
      await stage.sql(`UPDATE identity_provider SET ${change}`);
      const begun = await fetch(`${service.url}/api/auth/oidc/login?provider=corp&returnTo=/console`, {
        redirect: 'manual',
        headers: { accept: 'application/json' },
      });
      expect(begun.status).toBe(404);
      await stage.sql(`DELETE FROM identity_provider; INSERT INTO identity_provider SELECT * FROM kept_provider`);
    }
  });
});

/** Creates a person with a second factor, as if the service had added the factor, and returns the previous account row. */
async function enrolled(): Promise<{ person: Person; id: string; earlier: object }> {
  const person = await register(service, 'factor');
  const [row] = await stage.sql<{ id: string; earlier: object }>(
    `SELECT id, to_jsonb(u) AS earlier FROM user_account u WHERE email = $1`,
    [person.email],
  );
  const { id = '', earlier = {} } = row ?? {};
  await stage.sql(`INSERT INTO second_factor (id, user_id, name, confirmed_at) VALUES ($1, $2, 'phone', now())`, [
    randomUUID(),
    id,
  ]);
  await stage.change(`UPDATE user_account SET revision = coalesce(revision, 0) + 1 WHERE id = $1`, [id]);
  return { person, id, earlier };
}

describe('a sign-in with a password', () => {
  const insert = (row: object) =>
    `INSERT INTO user_account SELECT * FROM jsonb_populate_record(NULL::user_account, '${JSON.stringify(row)}')`;

  /** Signs in while `change` modifies the rows at the moment the service reads the factors. */
  async function signInDuring({ email, password }: Person, change: string): Promise<Answer> {
    const attacker = new Client({ connectionString: stage.databaseUrl });
    await attacker.connect();
    try {
      await attacker.query(`BEGIN; LOCK TABLE second_factor IN ACCESS EXCLUSIVE MODE`);
      const answer = login(service, email, password);
      const waits = `SELECT 1 FROM pg_locks WHERE relation = 'second_factor'::regclass AND NOT granted`;
      await expect.poll(async () => (await attacker.query(waits)).rows.length, { timeout: 8000 }).toBeGreaterThan(0);
      await attacker.query(`${change}; COMMIT`);
      return await answer;
    } finally {
      await attacker.end();
    }
  }

  it('requires the second factor while the account row is missing', async () => {
    const { person, id } = await enrolled();
    const answer = await signInDuring(person, `DELETE FROM user_account WHERE id = '${id}'`);
    expect([answer.status, answer.body.code]).toEqual([401, 'auth.second-factor-needed']);
  });

  it('requires the second factor while an earlier account row is present and the factor is missing', async () => {
    const { person, id, earlier } = await enrolled();
    const away = `DELETE FROM user_account WHERE id = '${id}'; ${insert(earlier)}; DELETE FROM second_factor WHERE user_id = '${id}'`;
    const answer = await signInDuring(person, away);
    expect([answer.status, answer.body.code]).toEqual([403, 'second-factor.changed']);
  });
});

describe('second factor guesses', () => {
  it('are slowed down even if SQL deletes the counters', async () => {
    const { person } = await enrolled();
    const statuses: number[] = [];
    for (let guess = 0; guess < 25 && !statuses.includes(429); guess += 1) {
      await stage.sql(`DELETE FROM attempt_count`);
      const body = { email: person.email, password: person.password, totp: '000000' };
      statuses.push((await service.call('POST', '/api/auth/login', { body })).status);
    }
    expect(statuses.at(-1)).toBe(429);
  });
});

describe('the password reset link', () => {
  it('is not sent to an address that SQL set, nor with roles that SQL removed', async () => {
    const person = await register(service, 'reset');
    const [row] = await stage.sql<{ id: string }>(`SELECT id FROM user_account WHERE email = $1`, [person.email]);
    const path = `/api/settings/users/${row?.id}`;
    await stage.sql(`UPDATE user_account SET email = 'attacker@evil.example' WHERE id = $1`, [row?.id]);
    const ways = [
      ['POST', `${path}/password-reset`],
      ['DELETE', `${path}/second-factors`],
      ['DELETE', `${path}/sessions`],
    ] as const;
    for (const [method, url] of ways) {
      const { status, body } = await service.call(method, url, { key: apiKey });
      expect([status, body.code]).toEqual([409, 'row.not-sealed']);
    }
    expect(await stage.sql(`SELECT id FROM mail_message`)).toEqual([]);
  });
});

describe('an SSH login', () => {
  it('does not include accounts that SQL added to a login rule', async () => {
    const person = await register(service, 'host');
    const [row] = await stage.sql<{ id: string }>(`SELECT id FROM user_account WHERE email = $1`, [person.email]);
    const body = { roles: ['operator'] };
    expect((await service.call('PATCH', `/api/settings/users/${row?.id}`, { key: apiKey, body })).status).toBe(200);
    const authority = await service.call('POST', '/v1/ssh-ca', { key: apiKey, body: { name: 'lab', kind: 'user' } });
    expect(authority.status).toBe(201);
    const rule = {
      name: 'lab',
      authorityId: authority.body.id,
      subject: 'person',
      conditions: [{ claim: 'email', values: [person.email] }],
      principals: ['bob'],
      lifeSeconds: 900,
      extensions: ['permit-pty'],
    };
    expect((await service.call('POST', '/v1/ssh-login-rules', { key: apiKey, body: rule })).status).toBe(201);
    const file = join(mkdtempSync(join(tmpdir(), 'sealwright-login-')), 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
    const order = { publicKey: readFileSync(`${file}.pub`, 'utf8').trim(), rule: 'lab' };
    const ask = () => service.call('POST', '/v1/ssh-login', { key: person.accessToken, body: order });
    expect((await ask()).status).toBeLessThan(300);
    await stage.sql(`UPDATE ssh_login_rule SET principals = '{root}'`);
    expect((await ask()).status).toBeGreaterThanOrEqual(400);
  });
});

describe('the first administrator', () => {
  it('is not created again if accounts are missing while a process starts', async () => {
    await stage.sql(`CREATE TABLE kept_account AS SELECT * FROM user_account; DELETE FROM user_account`);
    try {
      const settings = { SVC_ADMIN_EMAIL: 'first@example.org', SVC_ADMIN_PASSWORD: newPassword() };
      const restarted = await stage.start({ role: 'api', settings });
      expect(await stage.sql(`SELECT email FROM user_account`)).toEqual([]);
      await restarted.kill();
    } finally {
      await stage.sql(`INSERT INTO user_account SELECT * FROM kept_account`);
    }
  });
});
