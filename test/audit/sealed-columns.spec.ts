import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRowSealer, type RowSealer, type SealedTableColumn } from '../support/sealed-sql.js';
import { openStage, type Stage } from '../support/stage.js';

/** Matches columns whose names suggest that they grant or restrict something or contain a credential. */
const LOOKS_LIKE_A_RIGHT =
  /(?:^|_)(?:hash|secret|password|token|lookup|keys|api_key_id|roles?|owner_id|issued_to|permissions|scopes|settings|rules|conditions|unless|stages|principals|methods|expir(?:y|es_at)|constraints|disabled|enabled|user_id|person_id|groups|credential_id|allowed|granted)(?:_|$)/;

/** Unsealed tables that have columns with security-related names, each with the reason why the table needs no seal. */
const DECIDED: Readonly<Record<string, string>> = {
  alert: 'who takes care of an alert: no right follows from it',
  alert_rule: 'which alerts are raised',
  approval:
    'judged at each vote and at the claim by the entries of the audit log (approvals/decisions/logged-approvals.ts)',
  approval_vote: 'counted at the claim by the sealed entries of the audit log',
  attestation: 'a statement about a build, verified by its signature',
  certificate: 'the certificate of a signing key is compared with the entry of its import',
  inventory_import: 'a report under way; the owner only finds it in lists',
  mail_message: 'mails under way',
  openpgp_statement: 'a user id of OpenPGP in a published statement, verified by its signature',
  passkey_challenge:
    'an assertion needs the private key of the passkey; a replay is refused by the counter, where the passkey has one',
  risk_rule_set: 'rules that judge assets',
  risk_verdict: 'verdicts on assets',
  saml_message: 'marks of messages that were used; a deleted mark allows a replay of a signed logout',
  schedule: 'what is done when; the rights are those of the person behind it, whose account is sealed',
  seal_format: 'read by RowSealEpoch, which verifies rows_seal and the mark in the HSM',
  sensor: 'the key of a sensor is an API key, whose row is sealed',
  sensor_api_key:
    'limits an API key of an earlier version to reports; without the row the key has what its sealed row grants',
  sensor_command: 'what a sensor is asked to do; the sensor accepts scans alone',
  service_instance: 'processes that run',
  signing_batch: 'requests under way: each is judged by the entries of the audit log',
  signing_envelope: 'content under way: its hash is in the log entry of the request',
  signing_request: 'judged at the claim by the entries of the audit log (claim-check.ts)',
  ssh_certificate: 'judged before it is signed and before it is renewed by the entries of the audit log',
  ssh_rotation:
    'judged before each change by the entries of the audit log; the rights are those of the person behind it, whose account is sealed',
  ssh_rotation_policy: 'compared with its newest entry in the audit log before it orders rotations',
  timestamp: 'a record of what was issued',
  used_proof: 'marks of proofs that were used; a deleted mark allows a replay within a minute by who has the proof',
  webhook_endpoint:
    'receivers of messages; the secret is encrypted by the HSM for its row, and who can write the row can read the log of events',
  webhook_old_secret: 'encrypted by the HSM for its row',
  workload_token_use:
    'marks of tokens that were used; a deleted mark allows a replay within minutes by who has the token',
};

let stage: Stage;
let sealer: RowSealer;

beforeAll(async () => {
  stage = await openStage();
  sealer = await openRowSealer(stage.settings);
});
afterAll(async () => {
  await sealer.close();
  await stage.close();
});

it('every column that resembles a credential or a right is sealed, or its table is listed with a reason', async () => {
  const rows = await stage.sql<{ table: string; column: string }>(
    `SELECT table_name AS table, column_name AS column FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE 'before_%' ORDER BY 1, 2`,
  );
  const suspicious = rows.filter(({ column }) => LOOKS_LIKE_A_RIGHT.test(column));
  const open = suspicious.filter(({ table }) => !sealer.tables.has(table) && !(table in DECIDED));
  expect(open.map(({ table, column }) => `${table}.${column}`)).toEqual([]);
  const tables = new Set(suspicious.map(({ table }) => table));
  expect(Object.keys(DECIDED).filter((table) => !tables.has(table) || sealer.tables.has(table))).toEqual([]);
});

/**
 * Columns of sealed tables that the seal does not cover. Anyone with write access to the database can change these columns, so they must not grant anything.
 */
const OUTSIDE: Readonly<Record<string, readonly string[]>> = {
  api_key: ['created_at', 'last_used_at', 'last_used_from', 'warned_days'],
  approval_policy: ['created_at', 'updated_at'],
  approval_policy_revision: [],
  approver_group_member: [],
  auth_session: ['id_token', 'last_used_at', 'last_used_from'],
  device_authorization: ['created_at', 'poll_seconds', 'polled_at', 'session_id'],
  external_identity: ['created_at'],
  identity_provider: ['created_at', 'label', 'secret', 'updated_at'],
  invitation: ['created_at'],
  oauth_client: ['created_at', 'keys_asked_at'],
  password_reset: ['created_at'],
  recovery_code: [],
  refresh_token: ['created_at'],
  second_factor: ['created_at', 'last_step', 'last_used_at', 'name', 'seed'],
  secret_disclosure: [],
  signing_key: ['created_at'],
  signing_key_destruction: ['attempt', 'created_at', 'finished_at', 'lease_until', 'worker'],
  ssh_authority: ['created_at', 'list_version', 'serial'],
  ssh_login_rule: ['created_at', 'updated_at'],
  sso_transaction: [],
  user_account: ['created_at'],
  workload_identity: ['created_at', 'token'],
  workload_issuer: ['created_at', 'keys_asked_at', 'updated_at'],
  workload_trust: ['created_at', 'updated_at'],
};

it('the unsealed columns match the list', () => {
  const outside = [...sealer.tables].map(([table, columns]) => [
    table,
    columns.flatMap(({ name, isSealed }) => (isSealed || name === 'seal' ? [] : [name])).toSorted(),
  ]);
  expect(Object.fromEntries(outside)).toEqual(OUTSIDE);
});

/** Values that constraints require in a row that grants something. */
const VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  approval_policy_revision: { only: 'true' },
  approver_group_member: { provider_id: 'NULL', sso_group: 'NULL' },
  device_authorization: { status: `'APPROVED'` },
  oauth_client: { jwks_uri: 'NULL', certificate_rule: 'NULL' },
  second_factor: { confirmed_at: 'now()' },
  signing_key_destruction: { finished_at: 'NULL' },
  ssh_login_rule: { life_seconds: '60' },
  workload_trust: { life_seconds: '60' },
};
/** Columns that revoke what the row grants. In an active row, these columns are null. */
const ENDS = new Set(['ended_at', 'ended_because', 'revoked_at', 'used_at', 'accepted_at', 'replaced_by', 'seal']);

function valueOf(table: string, { name, type, isList }: SealedTableColumn): string {
  const given = VALUES[table]?.[name];
  if (given !== undefined) return given;
  if (ENDS.has(name)) return 'NULL';
  if (isList) return `'{one}'`;
  const values: Record<string, string> = {
    uuid: 'gen_random_uuid()',
    text: `'one'`,
    int: '1',
    bigint: '1',
    boolean: 'true',
    bytea: `'\\x01'`,
    jsonb: `'{"one": [1, null, "two"]}'`,
    timestamptz: `now() + interval '1 day'`,
  };
  return values[type] ?? 'NULL';
}

function changeOf({ name, type, isList }: SealedTableColumn): string {
  if (isList) return `coalesce(${name}, '{}') || '{admin}'`;
  const changes: Record<string, string> = {
    uuid: 'gen_random_uuid()',
    text: `coalesce("${name}", '') || 'x'`,
    int: `"${name}" + 1`,
    bigint: `"${name}" + 1`,
    boolean: `NOT "${name}"`,
    bytea: `'\\x02'`,
    jsonb: `'{"one": [1, null, "three"]}'`,
    timestamptz: `coalesce("${name}", now()) + interval '1 hour'`,
  };
  return changes[type] ?? 'NULL';
}

describe('in every sealed table', () => {
  const found = async (table: string) => (await sealer.forged()).some((forged) => forged.table === table);
  const insert = async (table: string) => {
    // The only row is inserted by the migrations, without a seal.
    if (table === 'approval_policy_revision')
      return void (await stage.sql('UPDATE approval_policy_revision SET seal = NULL'));
    const columns = sealer.tables.get(table) ?? [];
    const names = columns.map(({ name }) => `"${name}"`).join(', ');
    await stage.sql(
      `INSERT INTO ${table} (${names}) VALUES (${columns.map((column) => valueOf(table, column)).join(', ')})`,
    );
  };

  it.each(Object.keys(OUTSIDE))(
    'a row of %s that was inserted or changed in any sealed column is detected',
    async (table) => {
      await insert(table);
      if (table === 'workload_identity')
        await stage.sql(
          `INSERT INTO auth_session (id, user_id, way, address, agent, expires_at) SELECT id, id, 'workload', '', '', now() + interval '1 day' FROM workload_identity`,
        );
      expect(await found(table)).toBe(true);
      await sealer.seal();
      expect(await sealer.forged()).toEqual([]);
      await stage.sql(`CREATE TABLE before_${table} AS SELECT * FROM ${table}`);
      for (const column of sealer.tables.get(table) ?? []) {
        const keepsGranting =
          !ENDS.has(column.name) && !['expires_at', 'status', 'confirmed_at', 'only'].includes(column.name);
        if (!column.isSealed || !keepsGranting || (column.isKey && table === 'workload_identity')) continue;
        if (table === 'approver_group_member' && ['user_id', 'provider_id', 'sso_group'].includes(column.name))
          continue;
        await stage.sql(`UPDATE ${table} SET "${column.name}" = ${changeOf(column)}`);
        expect([column.name, await found(table)]).toEqual([column.name, true]);
        await stage.sql(`DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM before_${table}`);
      }
      expect(await sealer.forged()).toEqual([]);
    },
  );
});
