import { hash } from '@node-rs/argon2';
import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { login, me, newPassword } from '../auth/people.js';
import { runToEnd, type Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';

/** Simulates an upgrade from the previous version, which did not seal rows. */
let stage: Stage;
let service: Service;
const password = newPassword();

beforeAll(async () => {
  stage = await openStage();
  await stage.sql(
    `INSERT INTO user_account (id, email, password_hash, roles) VALUES ($1, 'ann@example.org', $2, '{admin}')`,
    [randomUUID(), await hash(password)],
  );
  // The migration sets the same column in a database that already contains data.
  await stage.sql(`UPDATE seal_format SET rows_sealed_from = now() + interval '1 day'`);
  service = await stage.start();
});
afterAll(() => stage.close());

const signIn = async (at = service) => {
  const { status, body } = await login(at, 'ann@example.org', password);
  return { status, token: body.access_token as string };
};
/** Inserts a session without a seal, as the previous version did and an attacker could. */
const insertSession = async (secret: string) => {
  const id = randomUUID();
  await stage.sql(
    `INSERT INTO auth_session (id, user_id, way, address, agent, cookie_hash, methods, expires_at)
     SELECT $1, id, 'password', '', '', $2, '{pwd}', now() + interval '1 hour' FROM user_account WHERE email = 'ann@example.org'`,
    [id, createHash('sha256').update(secret).digest()],
  );
  return id;
};
const statusOf = async (id: string, secret: string, at: Service) => {
  const headers = { cookie: `sealwright-session=${id}.${secret}` };
  return (await at.call('GET', '/api/auth/me', { headers })).status;
};

/** Inserts an SSH authority without a seal, as the previous version did and an attacker could. The table belongs to the second generation of sealed tables. */
const insertAuthority = (name: string) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return stage.sql(
    `INSERT INTO ssh_authority (id, name, kind, cka_id, public_key) VALUES (gen_random_uuid(), $1, 'user', $2, $3)`,
    [name, Buffer.from(name), publicKey.export({ format: 'der', type: 'spki' })],
  );
};
const trusted = async () => String((await service.call('GET', '/v1/ssh-ca/trusted-user-ca-keys')).body);

it('rows of the previous version are accepted during the upgrade, adopted once, and rejected afterwards', async () => {
  const early = await signIn();
  expect(early.status).toBe(200);
  const old = await insertSession('old');
  expect(await statusOf(old, 'old', service)).toBe(200);
  await insertAuthority('old-authority');
  expect(await trusted()).toContain('old-authority');

  await runToEnd(['reseal'], stage.settings);
  const late = await insertSession('late');
  await expect.poll(() => statusOf(late, 'late', service), { timeout: 15_000 }).toBe(401);
  expect(await statusOf(old, 'old', service)).toBe(200);
  expect((await me(service, early.token)).status).toBe(200);
  expect((await signIn()).status).toBe(200);
  await insertAuthority('late-authority');
  expect(await trusted()).toContain('old-authority');
  expect(await trusted()).not.toContain('late-authority');
  const { body } = await service.call('GET', '/api/v1/audit/entries?action=rows.adopted', { key: early.token });
  expect(body.items).toMatchObject([
    { detail: { generation: 2, ssh_authority: 1 } },
    { detail: { generation: 1, auth_session: 1, user_account: 1 } },
  ]);

  // The database owner resets the upgrade, but the token has recorded its completion.
  await service.kill();
  await stage.sql(`UPDATE seal_format SET rows_seal = NULL, rows_sealed_from = now() + interval '1 day'`);
  const again = await stage.start();
  const later = await insertSession('later');
  expect(await statusOf(later, 'later', again)).toBe(401);
  expect(await statusOf(old, 'old', again)).toBe(200);
});
