import { execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, randomUUID, sign as signBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Approver, type ApprovalFixture, held, heldFor, newApprover, newApprovers, newGroup, newGuardedKey, openApprovalFixture, unique, vote } from '../approvals/approvers.js'; // prettier-ignore
import { deviceGrant, makeClient, postForm } from '../auth/oauth-calls.js';
import { idOf, login, me, newPassword, register } from '../auth/people.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf, read } from '../support/signing.js';
import { DatabaseOwner } from './database-owner.js';

/**
 * The attacker owns the database but does not have the service's settings. Each test restores earlier rows together with their seals, hides entries
 * of the audit log, or deletes rows whose absence grants a right.
 */
let place: ApprovalFixture;
let service: Service;
let apiKey: string;
let attacker: DatabaseOwner;
const sql: ApprovalFixture['stage']['sql'] = (text, values) => place.stage.sql(text, values);

beforeAll(async () => {
  place = await openApprovalFixture();
  ({ service, apiKey } = place);
  attacker = new DatabaseOwner(place.stage);
});
afterAll(() => place.stage.close());

const keep: DatabaseOwner['keep'] = (table, where) => attacker.keep(table, where);
const change = async (id: string, body: object) => {
  const answer = await service.call('PATCH', `/api/settings/users/${id}`, { key: apiKey, body });
  expect(answer.status).toBe(200);
};
const doctor = () => attacker.doctor();
const sessionOf = ({ accessToken }: { readonly accessToken: string }): string =>
  (JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()) as { sid: string }).sid;
const signedIn = (answer: Awaited<ReturnType<typeof login>>) => ({ accessToken: answer.body.access_token as string });

describe('a disabled person', () => {
  it('cannot vote in a new session after their account was restored, and the doctor reports the account', async () => {
    const member = await newApprover(place);
    const { approvalId, requestId } = await heldFor(place, [member]);
    const putBack = await keep('user_account', `id = '${member.id}'`);
    await change(member.id, { disabled: true });
    await putBack();
    const again = await login(service, member.email, member.password);
    // A process that has read the later edit in the log rejects the account. Other processes reject the vote.
    const refusal = again.status === 200 ? await vote(service, approvalId, signedIn(again)) : again;
    expect([401, 403]).toContain(refusal.status);
    expect((await read(service, apiKey, requestId)).body.status).toBe('PENDING_APPROVAL');
    expect(await doctor()).toContain(`account ${member.id} is enabled, but disabled according to the log`);
  });

  it('cannot vote in the old session, even if the entry of its end was deleted', async () => {
    const member = await newApprover(place);
    const { approvalId } = await heldFor(place, [member]);
    const session = sessionOf(member);
    const account = await keep('user_account', `id = '${member.id}'`);
    const row = await keep('auth_session', `id = '${session}'`);
    await change(member.id, { disabled: true });
    await account();
    await row();
    await expect.poll(async () => (await me(service, member.accessToken)).status, { timeout: 10_000 }).toBe(200);
    const entry = `target_id = '${session}' AND action = 'session.ended'`;
    await expect
      .poll(async () => sql(`SELECT 1 FROM log_leaf JOIN audit_entry e ON e.id = entry_id WHERE ${entry}`))
      .toHaveLength(1);
    const back = await keep('audit_entry', entry);
    await sql('ALTER TABLE audit_entry DISABLE TRIGGER USER');
    await sql(`DELETE FROM audit_entry WHERE ${entry}`);
    await sql('ALTER TABLE audit_entry ENABLE TRIGGER USER');
    const refused = await vote(service, approvalId, member);
    expect(['audit-log.incomplete', 'approval.rights-ended']).toContain(refused.body.code);
    await sql('ALTER TABLE audit_entry DISABLE TRIGGER USER');
    await back();
    await sql('ALTER TABLE audit_entry ENABLE TRIGGER USER');
  });

  it('cannot vote while a view hides the end of the session', async () => {
    const member = await newApprover(place);
    const { approvalId } = await heldFor(place, [member]);
    const session = sessionOf(member);
    const row = await keep('auth_session', `id = '${session}'`);
    expect((await service.call('POST', '/api/auth/logout', { key: member.accessToken })).status).toBeLessThan(300);
    await row();
    await expect.poll(async () => (await me(service, member.accessToken)).status, { timeout: 10_000 }).toBe(200);
    await sql(
      `BEGIN; ALTER TABLE audit_entry RENAME TO audit_entry_real;
       CREATE VIEW audit_entry AS SELECT * FROM audit_entry_real
         WHERE NOT (target_id = '${session}' AND action = 'session.ended' AND position('unnest($1::text[]) AS target' IN current_query()) > 0); COMMIT`,
    );
    const refused = await vote(service, approvalId, member);
    await sql(`BEGIN; DROP VIEW audit_entry; ALTER TABLE audit_entry_real RENAME TO audit_entry; COMMIT`);
    expect(['database.changed', 'approval.rights-ended', 'audit-log.incomplete']).toContain(refused.body.code);
    await expect.poll(async () => sql(`SELECT 1 FROM audit_entry WHERE action = 'database.changed'`)).not.toEqual([]);
  });
});

describe('a vote', () => {
  it('is rejected while a log entry is missing', async () => {
    const member = await newApprover(place);
    const { approvalId } = await heldFor(place, [member]);
    const entry = `id = (SELECT e.id FROM log_leaf l JOIN audit_entry e ON e.id = l.entry_id ORDER BY l.index DESC LIMIT 1)`;
    const newest = () => sql<{ id: string }>(`SELECT id FROM audit_entry WHERE ${entry}`);
    await expect.poll(newest).toHaveLength(1);
    const [row] = await newest();
    const back = await keep('audit_entry', `id = '${row?.id}'`);
    const restarted = await place.stage.start();
    const unlocked = (work: string) =>
      sql(`ALTER TABLE audit_entry DISABLE TRIGGER USER; ${work}; ALTER TABLE audit_entry ENABLE TRIGGER USER`);
    await unlocked(`DELETE FROM audit_entry WHERE id = '${row?.id}'`);
    assertProblem(await vote(restarted, approvalId, member), { status: 503, code: 'audit-log.incomplete' });
    await sql('ALTER TABLE audit_entry DISABLE TRIGGER USER');
    await back();
    await sql('ALTER TABLE audit_entry ENABLE TRIGGER USER');
    await restarted.kill('SIGKILL');
  });

  it('is rejected while a foreign trigger exists, and an approved request is not signed', async () => {
    const member = await newApprover(place);
    const { approvalId, requestId } = await heldFor(place, [member]);
    await sql(`CREATE FUNCTION idle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$`);
    await sql(`CREATE TRIGGER idle BEFORE INSERT ON approval_notice FOR EACH ROW EXECUTE FUNCTION idle()`);
    assertProblem(await vote(service, approvalId, member), { status: 503, code: 'database.changed' });
    const health = await service.call('GET', '/actuator/health', { key: apiKey });
    expect(health.body.components.catalogue).toMatchObject({ status: 'DOWN' });
    await sql(`DROP TRIGGER idle ON approval_notice; DROP FUNCTION idle`);
    expect((await vote(service, approvalId, member)).status).toBe(200);
    await expect
      .poll(async () => (await read(service, apiKey, requestId)).body.status as string, { timeout: 10_000 })
      .toBe('SIGNED');
  });
});

describe('a person who lost a right', () => {
  it('cannot vote with a restored role or membership', async () => {
    const [former, member] = (await newApprovers(place, 2)) as [Approver, Approver];
    const { approvalId, group } = await heldFor(place, [former, member]);
    const role = await keep('user_account', `id = '${former.id}'`);
    await change(former.id, { roles: ['viewer'] });
    const lowered = await keep('user_account', `id = '${former.id}'`);
    await role();
    const again = await login(service, former.email, former.password);
    const refusal = again.status === 200 ? await vote(service, approvalId, signedIn(again)) : again;
    expect([401, 403]).toContain(refusal.status);
    await lowered();
    await change(former.id, { roles: ['approver'] });

    const membership = await keep('approver_group_member', `group_id = '${group.id}'`);
    const changed = await service.call('PUT', `/api/v1/approver-groups/${group.id}`, {
      key: apiKey,
      headers: { 'if-match': `"${group.version}"` },
      body: { name: group.name, members: [member.id] },
    });
    expect(changed.status).toBe(200);
    await membership();
    const later = signedIn(await login(service, former.email, former.password));
    assertProblem(await vote(service, approvalId, later), { status: 403, code: 'approval.rights-ended' });
    expect((await vote(service, approvalId, member)).status).toBe(200);
  });

  it('cannot use an earlier password in a process that has read the newer row', async () => {
    const person = await register(service, 'password');
    const id = await idOf(place.stage, person.email);
    const old = await keep('user_account', `id = '${id}'`);
    const newer = newPassword();
    const body = { currentPassword: person.password, password: newer };
    const changed = await service.call('POST', '/api/auth/password', { key: person.accessToken, body });
    expect(changed.status).toBeLessThan(300);
    expect((await login(service, person.email, newer)).status).toBe(200);
    await old();
    expect((await login(service, person.email, person.password)).status).toBe(401);
  });

  it('cannot vote after a sign-in without the second factor in the log', async () => {
    const member = await newApprover(place);
    const { approvalId } = await heldFor(place, [member]);
    const before = await keep('user_account', `id = '${member.id}'`);
    const key = member.accessToken;
    const begun = await service.call('POST', '/api/auth/second-factors/totp', { key, body: { name: 'phone' } });
    const code = execFileSync('oathtool', ['--totp', '--base32', begun.body.secret as string])
      .toString()
      .trim();
    const confirmed = await service.call('POST', `/api/auth/second-factors/totp/${begun.body.id}/confirm`, {
      key,
      body: { code },
    });
    expect(confirmed.status).toBeLessThan(300);
    await sql(`DELETE FROM second_factor WHERE user_id = $1`, [member.id]);
    await before();
    const again = await login(service, member.email, member.password);
    // A process that has read the newer account rejects the sign-in. Other processes reject the vote.
    const refusal = again.status === 200 ? await vote(service, approvalId, signedIn(again)) : again;
    expect([401, 403]).toContain(refusal.status);
  });
});

describe('a rejection', () => {
  it('remains in effect after the approval was restored, even while its entry is missing', async () => {
    const [eve, fay] = await Promise.all([newApprover(place), newApprover(place)]);
    const { requestId, approvalId } = await heldFor(place, [eve, fay]);
    const approval = await keep('approval', `id = '${approvalId}'`);
    const request = await keep('signing_request', `id = '${requestId}'`);
    const no = { key: eve.accessToken, body: { comment: 'no' } };
    expect((await service.call('POST', `/api/v1/approvals/${approvalId}/reject`, no)).status).toBe(200);
    await sql(`DELETE FROM approval_vote WHERE approval_id = $1`, [approvalId]);
    await approval();
    await request();
    assertProblem(await vote(service, approvalId, fay), { status: 409, code: 'approval.mismatch' });
    const entry = `target_id = '${approvalId}' AND action = 'approval.decided'`;
    await expect
      .poll(async () => sql(`SELECT 1 FROM log_leaf JOIN audit_entry e ON e.id = entry_id WHERE ${entry}`))
      .toHaveLength(1);
    await expect.poll(async () => (await vote(service, approvalId, fay)).body.code as string).toBe('approval.mismatch');
    const back = await keep('audit_entry', entry);
    await sql('ALTER TABLE audit_entry DISABLE TRIGGER USER');
    await sql(`DELETE FROM audit_entry WHERE ${entry}`);
    await sql('ALTER TABLE audit_entry ENABLE TRIGGER USER');
    const refused = await vote(service, approvalId, fay);
    expect(['approval.mismatch', 'audit-log.incomplete']).toContain(refused.body.code);
    expect((await read(service, apiKey, requestId)).body.status).toBe('PENDING_APPROVAL');
    await sql('ALTER TABLE audit_entry DISABLE TRIGGER USER');
    await back();
    await sql('ALTER TABLE audit_entry ENABLE TRIGGER USER');
  });
});

describe('a requester', () => {
  it('cannot approve their own request after the parties of a renewed approval were changed', async () => {
    const ann = await newApprover(place, ['approver', 'operator']);
    const other = await newApprover(place, ['approver', 'operator']);
    const { key } = await newGuardedKey(place, [{ members: [ann, other], threshold: 1 }]);
    const { requestId, approvalId } = await held(place, { digest: digestOf('own'), key: key.name }, ann.accessToken);
    await sql(`UPDATE approval SET owner_id = $2, requesters = ARRAY[$2::text] WHERE id = $1`, [approvalId, other.id]);
    const rotated = await service.call('POST', `/api/v1/signing-keys/${key.id}/rotate`, { key: apiKey });
    expect(rotated.status).toBeLessThan(300);
    const now = async () =>
      (await sql<{ id: string }>(`SELECT approval_id AS id FROM signing_request WHERE id = $1`, [requestId]))[0]?.id;
    await expect.poll(now, { timeout: 20_000 }).not.toBe(approvalId);
    assertProblem(await vote(service, (await now()) ?? '', ann), { status: 403, code: 'approval.own-request' });
  });

  it('includes everybody who has seen the secret, even if the rows that record it were deleted', async () => {
    const admin = await newApprover(place, ['approver', 'admin']);
    const program = await newApiKey(service, admin.accessToken, ['sign:digest', 'sign:read', 'keys:read']);
    const owner = await newApiKey(service, apiKey, ['admin:*']);
    const made = await newApiKey(service, owner.key, ['sign:digest', 'sign:read']);
    const [disclosed] = await sql<{ disclosed_to: string[] }>(`SELECT disclosed_to FROM api_key WHERE id = $1`, [
      made.id,
    ]);
    expect(disclosed?.disclosed_to.length).toBeGreaterThan(0);
    const client = await makeClient(service, apiKey, ['sign:digest', 'sign:read']);
    const tokenAfter = async (...replacers: string[]) => {
      let secret = '';
      for (const key of replacers) {
        const path = `/api/settings/oauth-clients/${client.client_id}/secret`;
        const replaced = await service.call('POST', path, { key });
        expect(replaced.status).toBeLessThan(300);
        secret = replaced.body.client_secret ?? replaced.body.secret;
      }
      const grant = { grant_type: 'client_credentials', client_id: client.client_id, client_secret: secret };
      return (await postForm(service, '/oauth/token', grant)).body.access_token as string;
    };
    await sql(`DELETE FROM secret_disclosure`);
    const { key } = await newGuardedKey(place, [{ members: [admin], threshold: 1 }]);
    const refused = async (credential: string) => {
      const { approvalId } = await held(place, { digest: digestOf(unique('shown')), key: key.name }, credential);
      assertProblem(await vote(service, approvalId, admin), { status: 403, code: 'approval.own-request' });
    };
    await refused(program.key);
    await refused(await tokenAfter(admin.accessToken));
    // Someone else has now seen the current secret.
    const token = await tokenAfter(admin.accessToken, apiKey);
    await sql(`DELETE FROM secret_disclosure`);
    await refused(token);
  });
});

describe('issuer keys', () => {
  it('become invalid with the rights of their uploader, even if the row naming them was deleted', async () => {
    const admin = await newApprover(place, ['admin']);
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' };
    const issuer = 'https://uploaded.example.org';
    const made = await service.call('POST', '/api/settings/workload-issuers', {
      key: admin.accessToken,
      body: { name: unique('ci'), issuer, enabled: true, jwks: { keys: [jwk] } },
    });
    expect(made.status).toBe(201);
    const conditions = [{ claim: 'repository', values: ['octo/app'] }];
    const trust = await service.call('POST', '/api/settings/workload-trusts', {
      key: apiKey,
      body: { name: unique('trust'), issuerId: made.body.id, audience: 'sealwright', conditions, scopes: ['sign:read'], keys: ['*'], pullRequests: true }, // prettier-ignore
    });
    expect(trust.status).toBe(201);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const exchange = () => {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, sub: 'repo:octo/app', aud: 'sealwright', iat: now, exp: now + 300, jti: randomUUID(), repository: 'octo/app' }; // prettier-ignore
      const text = `${part({ alg: 'ES256', kid: 'one', typ: 'JWT' })}.${part(claims)}`;
      const key = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }));
      const signature = signBytes('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
      return postForm(service, '/oauth/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: `${text}.${signature.toString('base64url')}`,
      });
    };
    expect((await exchange()).status).toBe(200);
    await change(admin.id, { roles: [], disabled: true });
    expect((await exchange()).status).toBe(400);
    await sql(`DELETE FROM secret_disclosure WHERE credential_id = $1`, [made.body.id]);
    expect((await exchange()).status).toBe(400);
  });
});

describe('a group, a device code and a login rule', () => {
  it('do not take effect if SQL renamed, approved or widened them', async () => {
    const [genuine, chosen] = [
      await newGroup(place, [await newApprover(place)]),
      await newGroup(place, [await newApprover(place)]),
    ];
    const name = genuine.body.name as string;
    await sql(`UPDATE approver_group SET name = 'aside' WHERE id = $1`, [genuine.body.id]);
    await sql(`UPDATE approver_group SET name = $2 WHERE id = $1`, [chosen.body.id, name]);
    const body = { name: unique('policy'), keys: ['*'], stages: [{ group: name, threshold: 1 }] };
    const policy = await service.call('POST', '/api/v1/approval-policies', { key: apiKey, body });
    assertProblem(policy, { status: 409, code: 'row.not-sealed' });

    const client = await makeClient(service, apiKey, ['sign:read'], 'public');
    const device = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
    await sql(
      `UPDATE device_authorization SET status = 'APPROVED', authenticated_at = now(), user_id = (SELECT id FROM user_account WHERE 'admin' = ANY(roles) LIMIT 1)
       WHERE client_id = $1`,
      [client.client_id],
    );
    const redeemed = await postForm(service, '/oauth/token', deviceGrant(client, device.body.device_code as string));
    expect(redeemed.status).toBe(400);
  });
});

describe('administrators', () => {
  it('receive an alert when a row is rejected', async () => {
    const rule = await service.call('POST', '/api/alert-rules', {
      key: apiKey,
      body: { name: unique('rows'), condition: 'database-changed' },
    });
    expect(rule.status).toBe(201);
    const person = await register(service, 'alerted');
    await sql(`UPDATE user_account SET roles = '{admin}' WHERE email = $1`, [person.email]);
    expect((await login(service, person.email, person.password)).status).toBe(401);
    const titles = async () => {
      const { body } = await service.call('GET', '/api/alerts?status=OPEN', { key: apiKey });
      return (body.items as { title: string }[]).map(({ title }) => title);
    };
    const wanted = 'The database was modified outside the service';
    await expect
      .poll(async () => (await titles()).some((title) => title.startsWith(wanted)), { timeout: 20_000 })
      .toBe(true);
  });
});
