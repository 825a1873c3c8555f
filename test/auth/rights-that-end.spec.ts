import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApprover, openApprovalFixture, type ApprovalFixture } from '../approvals/approvers.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { KINDS, type Kind } from './owned-credentials.js';

/** Tables with a secret, or its hash, that is not the credential of a caller, and why. */
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

/** Within so many seconds the loss of a right reaches every process. */
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

/** Flips of what the owner may do, and what a credential of theirs answers then. */
const FLIPS = [
  { name: 'lowered', change: { roles: ['viewer'] } },
  { name: 'disabled', change: { disabled: true } },
] as const;

/** 403: it is known and may not. 401, and 400 or 422 where something is exchanged for it: it is none any more. */
const REFUSED = [400, 401, 403, 422];

describe.each(Object.entries(KINDS))('%s', (name, { make, once, forAll }: Kind) => {
  it.concurrent.each(FLIPS)(
    'is refused on another process within seconds when its owner is $name',
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

it('every table with a secret is known here: as a kind of credential, or why it is none', async () => {
  const rows = await place.stage.sql<{ name: string }>(
    `SELECT DISTINCT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name ~ '(hash|secret|token|cookie|password)' ORDER BY table_name`,
  );
  const known = new Set([...Object.values(KINDS).flatMap(({ tables }) => tables), ...Object.keys(OTHERS)]);
  expect(rows.map(({ name }) => name)).toEqual([...known].sort());
});
