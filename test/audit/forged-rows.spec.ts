import { createHash, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { exportJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Approver,
  type ApprovalFixture,
  held,
  newApprovers,
  newGuardedKey,
  openApprovalFixture,
  vote,
} from '../approvals/approvers.js';
import { makeClient, postForm } from '../auth/oauth-calls.js';
import { login, me, newPassword, register } from '../auth/people.js';
import { assertProblem } from '../support/refused-calls.js';
import { type Answer, runToEnd, type Service } from '../support/service.js';
import { digestOf, type PublishedKey, read, sign, until } from '../support/signing.js';

/**
 * The attacker owns the database but does not have the service's settings. Each test inserts, changes, copies, restores or deletes a row that is a credential
 * or a right. The service must reject the credential or right.
 */
let place: ApprovalFixture;
let service: Service;
let apiKey: string;
const sql: ApprovalFixture['stage']['sql'] = (text, values) => place.stage.sql(text, values);

beforeAll(async () => {
  place = await openApprovalFixture();
  ({ service, apiKey } = place);
});
afterAll(() => place.stage.close());

const sha256 = (text: string) => createHash('sha256').update(text).digest();
const cookieCall = (id: string, secret: string, method = 'GET', path = '/api/auth/me'): Promise<Answer> =>
  service.call(method, path, {
    headers: {
      cookie: `sealwright-session=${id}.${secret}`,
      origin: new URL(service.url).origin,
      'x-csrf-protection': '1',
    },
  });
const insertedSession = async (person: string) => {
  const id = randomUUID();
  await sql(
    `INSERT INTO auth_session (id, user_id, way, address, agent, cookie_hash, methods, expires_at, authenticated_at)
     VALUES ($1, $2, 'password', '10.0.0.5', 'Mozilla', $3, '{pwd,otp,mfa}', now() + interval '1 hour', now())`,
    [id, person, sha256('chosen')],
  );
  return id;
};
/** Returns the session ID in an access token. Every process rereads a session at least every five seconds, and all other rows on each use. */
const sessionOf = ({ accessToken }: { readonly accessToken: string }): string =>
  (JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()) as { sid: string }).sid;
const refused = async (token: string): Promise<void> => {
  await expect.poll(async () => (await me(service, token)).status, { timeout: 10_000 }).toBe(401);
};

describe('an approval under N of M', () => {
  let members: Approver[];
  let guarded: PublishedKey;

  beforeAll(async () => {
    members = await newApprovers(place, 2);
    ({ key: guarded } = await newGuardedKey(place, [{ members, threshold: 2 }]));
  });

  it('is not given by inserted sessions', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('inserted'), key: guarded.name });
    for (const { id } of members) {
      const session = await insertedSession(id);
      const answer = await cookieCall(session, 'chosen', 'POST', `/api/v1/approvals/${approvalId}/approve`);
      assertProblem(answer, { status: 401, code: 'auth.bad-session' });
    }
    expect((await read(service, apiKey, requestId)).body.status).toBe('PENDING_APPROVAL');
  });

  it('is not given in a session whose sign-in is not in the log, however its row is sealed', async () => {
    const { approvalId } = await held(place, { digest: digestOf('unlogged'), key: guarded.name });
    const id = await insertedSession(members[0]?.id ?? '');
    await place.stage.change('SELECT 1');
    expect((await cookieCall(id, 'chosen')).status).toBe(200);
    const answer = await cookieCall(id, 'chosen', 'POST', `/api/v1/approvals/${approvalId}/approve`);
    assertProblem(answer, { status: 403, code: 'approval.session-unknown' });
  });

  it('is not given by a member added in SQL, nor after the group of the approval was changed', async () => {
    const { approvalId } = await held(place, { digest: digestOf('member'), key: guarded.name });
    const [stranger] = await newApprovers(place, 1);
    const [row] = await sql<{ group: string }>(`SELECT group_id AS group FROM approval WHERE id = $1`, [approvalId]);
    await sql(
      `INSERT INTO approver_group_member (group_id, member, user_id, added_by, seal)
       SELECT group_id, 'user ' || $2, $2::uuid, added_by, seal FROM approver_group_member WHERE group_id = $1 LIMIT 1`,
      [row?.group, stranger?.id],
    );
    assertProblem(await vote(service, approvalId, stranger as Approver), {
      status: 403,
      code: 'approval.not-approver',
    });
    const { groups } = await newGuardedKey(place, [{ members: [stranger as Approver], threshold: 1 }]);
    await sql(`UPDATE approval SET group_id = $2 WHERE id = $1`, [approvalId, groups[0]?.body.id]);
    assertProblem(await vote(service, approvalId, stranger as Approver), { status: 409, code: 'approval.mismatch' });
    await sql(`DELETE FROM approver_group_member WHERE member = $1 AND group_id = $2`, [
      `user ${stranger?.id}`,
      row?.group,
    ]);
  });

  it('cannot be bypassed by deleting, changing or restoring the policy: nothing is signed until the policy is back', async () => {
    const attempt = () => sign(service, { key: apiKey, body: { digest: digestOf('no policy'), key: guarded.name } });
    const unavailable = { status: 503, code: 'approval-policy.changed' };
    await sql(`CREATE TABLE kept_policy AS SELECT * FROM approval_policy`);
    await sql(`CREATE TABLE kept_set AS SELECT * FROM approval_policy_revision`);
    await sql(`DELETE FROM approval_policy`);
    await expect.poll(async () => (await attempt()).body.code as string, { timeout: 10_000 }).toBe(unavailable.code);
    await sql(`INSERT INTO approval_policy SELECT * FROM kept_policy`);
    await expect.poll(async () => (await attempt()).status, { timeout: 10_000 }).toBe(202);
    await sql(`UPDATE approval_policy SET keys = '{none}'`);
    await expect.poll(async () => (await attempt()).body.code as string, { timeout: 10_000 }).toBe(unavailable.code);
    await sql(`UPDATE approval_policy p SET keys = k.keys FROM kept_policy k WHERE k.id = p.id`);
    await expect.poll(async () => (await attempt()).status, { timeout: 10_000 }).toBe(202);
    await newGuardedKey(place, [{ members, threshold: 1 }]);
    expect((await attempt()).status).toBe(202);
    await sql(`CREATE TABLE newer_policy AS SELECT * FROM approval_policy`);
    await sql(`CREATE TABLE newer_set AS SELECT * FROM approval_policy_revision`);
    await sql(`DELETE FROM approval_policy WHERE id NOT IN (SELECT id FROM kept_policy)`);
    await sql(
      `UPDATE approval_policy_revision r SET revision = k.revision, policies = k.policies, seal = k.seal FROM kept_set k`,
    );
    await expect.poll(async () => (await attempt()).body.code as string, { timeout: 10_000 }).toBe(unavailable.code);
    await sql(
      `INSERT INTO approval_policy SELECT * FROM newer_policy WHERE id NOT IN (SELECT id FROM approval_policy)`,
    );
    await sql(
      `UPDATE approval_policy_revision r SET revision = k.revision, policies = k.policies, seal = k.seal FROM newer_set k`,
    );
    await expect.poll(async () => (await attempt()).status, { timeout: 10_000 }).toBe(202);
  });

  it('is given by people who signed in, and the evidence contains their sign-ins', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('given'), key: guarded.name });
    for (const member of members) expect((await vote(service, approvalId, member)).status).toBe(200);
    expect((await read(service, apiKey, requestId)).body.status).toBe('SIGNED');
    const { body } = await service.call('GET', `/api/v1/sign/requests/${requestId}/evidence`, { key: apiKey });
    const entries = (body.log.signIns as { data: string }[]).map(
      ({ data }) => JSON.parse(Buffer.from(data, 'base64').toString()) as { action: string; target: { id: string } },
    );
    expect(entries.map(({ action }) => action)).toEqual(['auth.signed-in', 'auth.signed-in']);
    expect(new Set(entries.map(({ target }) => target.id))).toEqual(new Set(members.map(({ id }) => id)));
  });
});

describe('sessions and tokens', () => {
  it('are rejected when copied to another person, revived, extended or stepped up', async () => {
    const [mallory, ann] = [await register(service, 'mallory'), await register(service, 'ann')];
    const id = sessionOf(mallory);
    const [victim] = await sql<{ id: string }>(`SELECT id FROM user_account WHERE email = $1`, [ann.email]);
    await sql(`UPDATE auth_session SET user_id = $2 WHERE id = $1`, [id, victim?.id]);
    await refused(mallory.accessToken);

    const ended = await register(service, 'ended');
    expect((await service.call('POST', '/api/auth/logout', { key: ended.accessToken })).status).toBeLessThan(300);
    await sql(`UPDATE auth_session SET ended_at = NULL, ended_because = NULL WHERE id = $1`, [sessionOf(ended)]);
    await refused(ended.accessToken);

    for (const change of [
      `methods = '{pwd,hwk,mfa}'`,
      `authenticated_at = now()`,
      `expires_at = now() + interval '9 days'`,
    ]) {
      const person = await register(service, 'changed');
      await sql(`UPDATE auth_session SET ${change} WHERE id = $1`, [sessionOf(person)]);
      await refused(person.accessToken);
    }
  });

  it('are not issued for a refresh token that was inserted or already used', async () => {
    const person = await register(service, 'refresh');
    const text = `refresh_${randomBytes(24).toString('base64url')}`;
    await sql(
      `INSERT INTO refresh_token (id, session_id, hash, expires_at) VALUES ($1, $2, $3, now() + interval '1 hour')`,
      [randomUUID(), sessionOf(person), sha256(text)],
    );
    const refresh = (token: string) => service.call('POST', '/api/auth/refresh', { body: { refresh_token: token } });
    expect((await refresh(text)).status).toBe(401);
    const another = await register(service, 'refresh');
    expect((await refresh(another.refreshToken)).status).toBe(200);
    await sql(`UPDATE refresh_token SET used_at = NULL WHERE session_id = $1`, [sessionOf(another)]);
    expect((await refresh(another.refreshToken)).status).toBe(401);
  });
});

describe('user accounts', () => {
  it('have neither roles nor a password set in SQL', async () => {
    const person = await register(service, 'roles');
    await sql(`UPDATE user_account SET roles = '{admin}' WHERE email = $1`, [person.email]);
    await refused(person.accessToken);
    assertProblem(await login(service, person.email, person.password), { status: 401, code: 'auth.wrong-credentials' });

    const [victim, mallory] = [await register(service, 'victim'), await register(service, 'hash')];
    await sql(
      `UPDATE user_account SET password_hash = (SELECT password_hash FROM user_account WHERE email = $2) WHERE email = $1`,
      [victim.email, mallory.email],
    );
    expect((await login(service, victim.email, mallory.password)).status).toBe(401);
  });

  it('require a second factor that SQL deleted or disabled: they cannot sign in without it', async () => {
    for (const change of ['DELETE FROM second_factor', 'UPDATE second_factor SET confirmed_at = NULL']) {
      const person = await register(service, 'factor');
      const [row] = await sql<{ id: string }>(`SELECT id FROM user_account WHERE email = $1`, [person.email]);
      await sql(`INSERT INTO second_factor (id, user_id, name, confirmed_at) VALUES ($1, $2, 'phone', now())`, [
        randomUUID(),
        row?.id,
      ]);
      // Seals the row, as if the service had added the factor.
      await place.stage.change('SELECT 1');
      assertProblem(await login(service, person.email, person.password), {
        status: 401,
        code: 'auth.second-factor-needed',
      });
      await sql(`${change} WHERE user_id = $1`, [row?.id]);
      assertProblem(await login(service, person.email, person.password), {
        status: 403,
        code: 'second-factor.changed',
      });
    }
  });

  it('are not created or taken over by an inserted invitation or reset', async () => {
    const [invitation, reset] = [`mail_${randomUUID()}`, `mail_${randomUUID()}`];
    await sql(
      `INSERT INTO invitation (id, email, roles, token_hash, invited_by, inviter_id, inviter_person, expires_at)
       SELECT $1, 'new@example.org', '{admin}', $2, 'ann', id::text, id::text, now() + interval '1 hour'
       FROM user_account WHERE 'admin' = ANY(roles) AND NOT disabled LIMIT 1`,
      [randomUUID(), sha256(invitation)],
    );
    const account = { email: 'new@example.org', password: newPassword(), invitation };
    expect((await service.call('POST', '/api/auth/register', { body: account })).body.code).toBe('invitation.unusable');
    const victim = await register(service, 'reset');
    await sql(
      `INSERT INTO password_reset (id, user_id, token_hash, expires_at)
       SELECT $1, id, $2, now() + interval '1 hour' FROM user_account WHERE email = $3`,
      [randomUUID(), sha256(reset), victim.email],
    );
    const body = { token: reset, password: newPassword() };
    expect((await service.call('POST', '/api/auth/password/reset', { body })).status).toBeGreaterThanOrEqual(400);
    expect((await login(service, victim.email, victim.password)).status).toBe(200);
  });
});

describe('programs', () => {
  const newKey = async () => {
    const expiry = new Date(Date.now() + 3_600_000).toISOString();
    const body = { name: 'small', permissions: ['sign:read'], expiry };
    const answer = await service.call('POST', '/api/settings/api-keys', { key: apiKey, body });
    return answer.body as { id: string; key: string };
  };
  const keyIs = async (key: string, code: string): Promise<void> => {
    await expect
      .poll(async () => (await me(service, key)).body.code as string | undefined, { timeout: 10_000 })
      .toBe(code);
  };

  it('cannot use an API key that was inserted, widened, reassigned or revived', async () => {
    const { id, key } = await newKey();
    expect((await me(service, key)).status).toBe(200);
    const [row] = await sql<{ lookup: string }>(`SELECT lookup FROM api_key WHERE id = $1`, [id]);
    const lookup = randomBytes(8).toString('hex').slice(0, row?.lookup.length);
    await sql(
      `INSERT INTO api_key SELECT (jsonb_populate_record(k, jsonb_build_object('id', $2::text, 'lookup', $3::text, 'permissions', '["admin:*"]'::jsonb))).*
       FROM api_key k WHERE id = $1`,
      [id, randomUUID(), lookup],
    );
    assertProblem(await me(service, key.replace(row?.lookup ?? '', lookup)), { status: 401, code: 'auth.unknown-key' });
    for (const change of [
      `permissions = '{admin:*}'`,
      `owner_id = gen_random_uuid()::text`,
      `expiry = '2040-01-01'`,
      `addresses = '{10.0.0.0/8}'`,
    ]) {
      const changed = await newKey();
      await sql(`UPDATE api_key SET ${change} WHERE id = $1`, [changed.id]);
      await keyIs(changed.key, 'auth.unknown-key');
    }
    const revoked = await newKey();
    await service.call('DELETE', `/api/settings/api-keys/${revoked.id}`, { key: apiKey });
    await sql(`UPDATE api_key SET revoked_at = NULL WHERE id = $1`, [revoked.id]);
    await keyIs(revoked.key, 'auth.unknown-key');
  });

  it('cannot use a revoked API key whose row is restored with its seal, once the log was read', async () => {
    const { id, key } = await newKey();
    const [row] = await sql<{ seal: Buffer }>(`SELECT seal FROM api_key WHERE id = $1`, [id]);
    expect((await service.call('DELETE', `/api/settings/api-keys/${id}`, { key: apiKey })).status).toBe(204);
    await sql(`UPDATE api_key SET revoked_at = NULL, seal = $2 WHERE id = $1`, [id, row?.seal]);
    await until('the key is rejected', 60, async () => (await me(service, key)).body.code === 'auth.unknown-key');
  });

  it('receive no token with a secret or permissions that SQL gave an OAuth client', async () => {
    const ask = (client: { client_id: string; client_secret: string }) =>
      postForm(service, '/oauth/token', { grant_type: 'client_credentials', ...client });
    for (const change of [
      `permissions = '{admin:*}'`,
      `secret_hash = sha256('chosen')`,
      `auth_method = NULL, revoked_at = NULL, owner_id = 'x'`,
    ]) {
      const client = await makeClient(service, apiKey, ['sign:read']);
      expect((await ask(client)).status).toBe(200);
      await sql(`UPDATE oauth_client SET ${change} WHERE id = $1`, [client.client_id]);
      const client_secret = change.includes('chosen') ? 'chosen' : client.client_secret;
      expect((await ask({ ...client, client_secret })).status).toBe(401);
    }
  });

  it('receive no token with keys that SQL gave their issuer, or through a trust that it widened', async () => {
    const issuer = 'https://ci.example.org';
    const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwkOf = async ({ publicKey }: ReturnType<typeof pair>) => ({
      ...(await exportJWK(publicKey)),
      kid: 'one',
      alg: 'ES256',
      use: 'sig',
    });
    const [genuine, chosen] = [pair(), pair()];
    const token = ({ privateKey }: ReturnType<typeof pair>, repository: string) =>
      new SignJWT({ repository })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(issuer).setAudience('sealwright').setSubject(`repo:${repository}`)
        .setIssuedAt().setJti(randomUUID()).setExpirationTime('5 minutes').sign(privateKey); // prettier-ignore
    const made = await service.call('POST', '/api/settings/workload-issuers', {
      key: apiKey,
      body: { name: 'ci', issuer, enabled: true, jwks: { keys: [await jwkOf(genuine)] } },
    });
    expect(made.status).toBe(201);
    const trust = await service.call('POST', '/api/settings/workload-trusts', {
      key: apiKey,
      body: {
        name: 'app', issuerId: made.body.id, audience: 'sealwright', scopes: ['sign:read'], keys: ['*'], pullRequests: true,
        conditions: [{ claim: 'repository', values: ['octo/app'] }],
      }, // prettier-ignore
    });
    expect(trust.status).toBe(201);
    const exchange = async (subject: Promise<string>) =>
      postForm(service, '/oauth/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: await subject,
      });
    expect((await exchange(token(genuine, 'octo/app'))).status).toBe(200);
    const [kept] = await sql<{ conditions: object }>(`SELECT conditions FROM workload_trust`);
    await sql(`UPDATE workload_trust SET conditions = '[{"claim": "repository", "values": ["**"]}]'`);
    expect((await exchange(token(genuine, 'evil/app'))).status).toBe(400);
    await sql(`UPDATE workload_trust SET conditions = $1`, [JSON.stringify(kept?.conditions)]);
    await sql(`UPDATE workload_issuer SET keys = $1`, [JSON.stringify([await jwkOf(chosen)])]);
    expect((await exchange(token(chosen, 'octo/app'))).status).toBe(400);
  });
});

describe('a change made in the database', () => {
  it('is reported by health, audit log and doctor until an operator accepts it', async () => {
    const tables = ['auth_session', 'user_account', 'api_key', 'oauth_client', 'workload_issuer', 'workload_trust'];
    await expect
      .poll(async () => {
        const rows = await sql<{ kind: string }>(
          `SELECT DISTINCT target_kind AS kind FROM audit_entry WHERE action = 'row.refused'`,
        );
        return rows.map(({ kind }) => kind);
      })
      .toEqual(expect.arrayContaining(tables));
    const health = await service.call('GET', '/actuator/health', { key: apiKey });
    expect(health.body.components.rows).toMatchObject({ status: 'DOWN' });
    // Both commands exit with 1 and print the reason.
    const said = (command: string[]) =>
      runToEnd(command, place.stage.settings).catch((error: unknown) => (error as { stdout: string }).stdout);
    expect(await said(['doctor', '--json'])).toContain('not written by the service: api_key');
    const person = await register(service, 'changed');
    await sql(`UPDATE user_account SET roles = '{admin}' WHERE email = $1`, [person.email]);
    const [row] = await sql<{ id: string }>(`SELECT id FROM user_account WHERE email = $1`, [person.email]);
    const change = () =>
      service.call('PATCH', `/api/settings/users/${row?.id}`, { key: apiKey, body: { roles: ['viewer'] } });
    assertProblem(await change(), { status: 409, code: 'row.not-sealed' });
    const listed = async () => {
      const text = await said(['seal-rows']);
      const [, count = '', digest = ''] = /(\d+) rows were not written by .* --accept ([0-9a-f]{64})/.exec(text) ?? [];
      return { count, digest, text };
    };
    const before = await listed();
    expect(before.count).not.toBe('');
    // The number of rows is the same as in the list, but the content of one row has changed.
    await sql(`UPDATE user_account SET roles = '{admin,approver}' WHERE email = $1`, [person.email]);
    expect(await said(['seal-rows', '--accept', before.digest])).toContain(`${before.count} rows were not written`);
    assertProblem(await change(), { status: 409, code: 'row.not-sealed' });
    const { count, digest, text } = await listed();
    // The operator sees the rows that would be sealed, without secrets.
    expect(text).toMatch(/"password_hash":"sha256:[0-9a-f]{64}".*"roles":\["admin","approver"\]/);
    expect(await said(['seal-rows', '--accept', digest])).toContain(`Sealed ${count} rows with their current content`);
    expect(await said(['seal-rows'])).toContain('Every credential and right was written by the service');
    expect((await change()).status).toBe(200);
  });
});
