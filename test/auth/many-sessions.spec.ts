import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { idOf, login, me, register } from './people.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

/** Inserts sessions into the database, as an earlier version without a session limit could have done. */
async function openSessions(userId: string, count: number): Promise<void> {
  await stage.sql(
    `INSERT INTO auth_session (id, user_id, way, methods, created_at, authenticated_at, expires_at, address, agent)
     SELECT ('00000000-0000-7000-' || right(md5($1::text), 4) || '-' || lpad(to_hex(n), 12, '0'))::uuid, $1::uuid, 'password', '{pwd}', now(), now(), now() + interval '1 day', '192.0.2.7', 'test'
     FROM generate_series(1, $2::int) n`,
    [userId, count],
  );
}

const openOf = async (userId: string): Promise<number> => {
  const [row] = await stage.sql<{ count: number }>(
    `SELECT count(*)::int FROM auth_session WHERE user_id = $1 AND ended_at IS NULL AND expires_at > now()`,
    [userId],
  );
  return row?.count ?? -1;
};

it('a sign-in ends the oldest sessions beyond 500', async () => {
  const person = await register(service);
  const id = await idOf(stage, person.email);
  // These sessions have lower IDs than the session of the registration, as if these sessions were older.
  await openSessions(id, 501);
  const { body } = await login(service, person.email, person.password);
  expect(await openOf(id)).toBe(500);
  for (const token of [person.accessToken, body.access_token]) expect((await me(service, token)).status).toBe(200);
  const ended = await stage.sql<{ because: string }>(
    `SELECT ended_because AS because FROM auth_session WHERE user_id = $1 AND ended_at IS NOT NULL ORDER BY id`,
    [id],
  );
  expect(ended.map(({ because }) => because)).toEqual(Array(3).fill('too-many-sessions'));
  const kept = await stage.sql(
    `SELECT 1 FROM auth_session WHERE user_id = $1 AND ended_at IS NOT NULL AND id > ANY(
    SELECT id FROM auth_session WHERE user_id = $1 AND ended_at IS NULL)`,
    [id],
  );
  expect(kept).toEqual([]);
});

it('a person with many open invitations is disabled in one call, which revokes them', async () => {
  const person = await register(service);
  const id = await idOf(stage, person.email);
  await stage.sql(
    `INSERT INTO invitation (id, email, roles, token_hash, invited_by, inviter_id, inviter_person, expires_at)
     SELECT gen_random_uuid(), 'guest' || n || '@example.org', '{viewer}', sha256(n::text::bytea), $2, $1, $1, now() + interval '1 day'
     FROM generate_series(1, 20000) n`,
    [id, person.email],
  );
  const began = Date.now();
  const body = { disabled: true };
  expect((await service.call('PATCH', `/api/settings/users/${id}`, { key: apiKey, body })).status).toBe(200);
  // One query per invitation would take several times as long.
  expect(Date.now() - began).toBeLessThan(20_000);
  const [row] = await stage.sql<{ revoked: number; entries: number }>(
    `SELECT (SELECT count(*)::int FROM invitation WHERE inviter_person = $1 AND revoked_at IS NOT NULL) AS revoked,
       (SELECT count(*)::int FROM audit_entry WHERE action = 'user.invitation-revoked') AS entries`,
    [id],
  );
  expect(row).toEqual({ revoked: 20_000, entries: 20_000 });
});

it('open invitations are listed in pages, however many there are', async () => {
  await stage.sql(
    `INSERT INTO invitation (id, email, roles, token_hash, invited_by, expires_at)
     SELECT gen_random_uuid(), 'listed-' || n || '@example.org', '{viewer}', sha256(('listed ' || n)::bytea), 'test', now() + interval '1 day'
     FROM generate_series(1, 250) n`,
  );
  const listed = new Set<string>();
  let path: string | undefined = '/api/settings/invitations?limit=200';
  while (path !== undefined) {
    const { body } = await service.call('GET', path, { key: apiKey });
    for (const { email } of body.items as { email: string }[]) listed.add(email);
    path = body.nextCursor === null ? undefined : `/api/settings/invitations?cursor=${body.nextCursor}`;
  }
  expect([...listed].filter((email) => email.startsWith('listed-'))).toHaveLength(250);
});
