import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Approver, newApprover, openApprovalFixture, type ApprovalFixture } from '../approvals/approvers.js';
import { inDays, newApiKey } from '../support/access.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { makeClient, postForm } from './oauth-calls.js';
import { KINDS, type Kind } from './owned-credentials.js';
import { login, me, newPassword } from './people.js';

/** Tables that contain secrets or hashes other than callers' credentials, each with the reason. */
const OTHERS: Readonly<Record<string, string>> = {
  approval: 'the hash of what approvers were shown',
  approval_vote: 'the same, with each vote',
  identity_provider: 'what we show at a provider',
  log_tile: 'hashes of the log',
  openpgp_statement: 'the hashed part of a signature over a key',
  passkey_challenge: 'is answered by a passkey, after the password',
  password_reset: 'sets the password of its own account; whoever is disabled cannot sign in with it',
  recovery_code: 'a second factor, after the password',
  saml_message: 'marks of messages that were taken',
  signing_envelope: 'the hash of what is signed around a digest',
  sso_transaction: 'the provider says who it is; roles and the account are looked at when its ticket is used',
  user_account: 'the password of a person',
  webhook_endpoint: 'what we sign messages with',
  webhook_old_secret: 'the same, for a while',
  workload_identity: 'what an issuer proved of a run: its token was used, and ends with its trust (workload.spec.ts)',
  used_proof: 'marks of proofs that were used',
  workload_token_use: 'marks of tokens that were used',
};

/** Number of seconds within which the loss of a right must take effect in every process. */
const SECONDS = 5;

let place: ApprovalFixture;
let other: Service;
const table: string[] = [];

beforeAll(async () => {
  place = await openApprovalFixture();
  other = await place.stage.start({ role: 'api' });
});
afterAll(async () => {
  await place.stage.close();
  process.stdout.write(`\nwhat a credential is good for when its owner is …\n${table.join('\n')}\n`);
});

/** Changes to the owner's account that revoke rights. */
const FLIPS = [
  { name: 'lowered', change: { roles: ['viewer'] } },
  { name: 'disabled', change: { disabled: true } },
] as const;

/**
 * Statuses of refusals: 403 if the credential is valid but the right is missing; 401 if the credential is invalid; 400 or 422 if an invalid credential is
 * exchanged.
 */
const REFUSED = [400, 401, 403, 422];

describe.each(Object.entries(KINDS))('%s', (name, { make, once, forAll }: Kind) => {
  it.concurrent.each(FLIPS)(
    'is rejected by other processes within seconds when its owner is $name',
    async ({ name: flip, change }) => {
      const owner = await newApprover(place, ['admin']);
      const use = await make(place, owner);
      const before = await (once ? await make(place, owner) : use)(other);
      expect(before.status).toBe(200);
      const path = `/api/settings/users/${owner.id}`;
      const changed = await place.service.call('PATCH', path, { key: place.apiKey, body: change });
      expect(changed.status).toBe(200);
      const since = performance.now();
      const staysGood = forAll === true && flip === 'lowered';
      const status = await (once || staysGood
        ? use(other).then((answer) => answer.status)
        : until('it is refused', SECONDS, async () => {
            const answer = await use(other);
            return answer.status === 200 ? undefined : answer.status;
          }));
      const seconds = ((performance.now() - since) / 1000).toFixed(1);
      table.push(`${name.padEnd(52)} ${flip.padEnd(9)} ${status}  ${seconds} s`);
      expect(Number(seconds)).toBeLessThan(SECONDS);
      expect(staysGood ? [200] : REFUSED).toContain(status);
    },
  );
});

describe('when a password or secret changes', () => {
  const call = (method: string, path: string, key: string, body?: object) =>
    place.service.call(method, path, { key, ...(body === undefined ? {} : { body }) });

  it('a client token ends with the secret that obtained it', async () => {
    const client = await makeClient(place.service, place.apiKey, ['admin:*']);
    const path = `/api/settings/oauth-clients/${client.client_id}/secret`;
    const leaver = await newApprover(place, ['admin']);
    const { body: own } = await call('POST', path, leaver.accessToken);
    const grant = { grant_type: 'client_credentials', client_id: client.client_id };
    const { body } = await postForm(place.service, '/oauth/token', { ...grant, client_secret: own.client_secret });
    expect((await me(place.service, body.access_token)).status).toBe(200);
    await call('PATCH', `/api/settings/users/${leaver.id}`, place.apiKey, { disabled: true });
    const { body: next } = await call('POST', path, place.apiKey);
    await until('the token is refused', SECONDS, async () => (await me(other, body.access_token)).status === 401);
    const fresh = await postForm(place.service, '/oauth/token', { ...grant, client_secret: next.client_secret });
    expect((await me(other, fresh.body.access_token)).status).toBe(200);
  });

  it('a sign-in with the old password opens no session once the new one is set', async () => {
    const person = await newApprover(place, ['viewer']);
    const tokens: string[] = [];
    let isOver = false;
    const hammer = async () => {
      while (!isOver) {
        const { status, body } = await login(other, person.email, person.password);
        if (status === 200) tokens.push(body.access_token);
        else isOver = true;
      }
    };
    const running = [hammer(), hammer(), hammer()];
    await until('somebody signs in', SECONDS, async () => Promise.resolve(tokens.length > 0));
    const change = { currentPassword: person.password, password: newPassword() };
    const changed = await call('POST', '/api/auth/password', person.accessToken, change);
    await Promise.all(running);
    expect(changed.status).toBe(204);
    await until('no session of the old password is left', SECONDS, async () => {
      const answers = await Promise.all(tokens.map((token) => me(place.service, token)));
      return answers.every(({ status }) => status === 401);
    });
  });

  it('a password link ends when the password is set in another way, and when all sessions are ended', async () => {
    const person = await newApprover(place, ['viewer']);
    const link = async () => {
      await place.service.call('POST', '/api/auth/password/forgot', { body: { email: person.email } });
      return until('the link is stored', SECONDS, async () => {
        const rows = await place.stage.sql<{ id: string }>(
          `SELECT id FROM password_reset WHERE user_id = $1 AND used_at IS NULL`,
          [person.id],
        );
        return rows[0]?.id;
      });
    };
    const isOpen = async (id: string) =>
      (await place.stage.sql(`SELECT FROM password_reset WHERE id = $1 AND used_at IS NULL`, [id])).length === 1;
    const before = await link();
    const password = newPassword();
    const change = { currentPassword: person.password, password };
    expect((await call('POST', '/api/auth/password', person.accessToken, change)).status).toBe(204);
    expect(await isOpen(before)).toBe(false);
    const again = await link();
    expect((await call('DELETE', `/api/settings/users/${person.id}/sessions`, place.apiKey)).status).toBe(204);
    expect(await isOpen(again)).toBe(false);
  });
});

describe('while a process still caches their rights, a person', () => {
  const cached = async (key: string) => expect((await me(other, key)).status).toBe(200);
  const patch = (at: Service, key: string, id: string, body: object) =>
    at.call('PATCH', `/api/settings/users/${id}`, { key, body });
  const SOON = { expiry: inDays(1), name: 'successor', permissions: ['audit:read'] };

  it('cannot undo being disabled or demoted', async () => {
    const person = await newApprover(place, ['admin']);
    const { key } = await newApiKey(place.service, person.accessToken, ['admin:*']);
    for (const lost of [{ roles: ['viewer'] }, { disabled: true }]) {
      await cached(key);
      expect((await patch(place.service, place.apiKey, person.id, lost)).status).toBe(200);
      const undone = await patch(other, key, person.id, { roles: ['admin'], disabled: false });
      expect([401, 403]).toContain(undone.status);
    }
  });

  it.each(['key', 'session', 'client'] as const)(
    'cannot create a credential with a %s that was ended',
    async (kind) => {
      const person = await newApprover(place, ['admin']);
      const { key, end } = await ending(person)[kind]();
      await cached(key);
      expect((await end()).status).toBe(204);
      expect((await other.call('POST', '/api/settings/api-keys', { key, body: SOON })).status).toBe(401);
    },
  );

  const ending = (person: Approver) => ({
    key: async () => {
      const { key, id } = await newApiKey(place.service, person.accessToken, ['admin:*']);
      const end = () => place.service.call('DELETE', `/api/settings/api-keys/${id}`, { key: place.apiKey });
      return { key, end };
    },
    session: () => {
      const path = `/api/settings/users/${person.id}/sessions`;
      const end = () => place.service.call('DELETE', path, { key: place.apiKey });
      return Promise.resolve({ key: person.accessToken, end });
    },
    client: async () => {
      const { client_id, client_secret } = await makeClient(place.service, person.accessToken, ['admin:*']);
      const grant = { grant_type: 'client_credentials', client_id, client_secret };
      const { body } = await postForm(place.service, '/oauth/token', grant);
      const path = `/api/settings/oauth-clients/${client_id}`;
      const end = () => place.service.call('DELETE', path, { key: place.apiKey });
      return { key: body.access_token as string, end };
    },
  });
});

it('every table with a secret is listed as a kind of credential, or with a reason why it is not one', async () => {
  const rows = await place.stage.sql<{ name: string }>(
    `SELECT DISTINCT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name ~ '(hash|secret|token|cookie|password)' ORDER BY table_name`,
  );
  const known = new Set([...Object.values(KINDS).flatMap(({ tables }) => tables), ...Object.keys(OTHERS)]);
  expect(rows.map(({ name }) => name)).toEqual([...known].sort());
});
