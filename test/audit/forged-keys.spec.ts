import { createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApprovers, newGroup, newGuardedKey, unique } from '../approvals/approvers.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer } from '../support/service.js';
import { createKey, digestOf, sign, until } from '../support/signing.js';
import { DatabaseOwner } from './database-owner.js';
import { openWriter, type Writer } from './writer.js';

/**
 * The attacker owns the database but does not have the service's settings. Each test uses row updates, or triggers that change rows temporarily, to change what
 * is signed, by whom, or under which name. The service must sign only what was requested and approved.
 */
let writer: Writer;
const sql = <Row extends object>(text: string, values?: unknown[]) => writer.sql<Row>(text, values);
const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  writer.service.call(method, path, { key: writer.apiKey, body });
const signWith = (key: string, text: string, more: object = {}) =>
  sign(writer.service, { key: writer.apiKey, body: { digest: digestOf(text), key, ...more } });
const changed = { status: 409, code: 'row.not-sealed' };
const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRSJ+R7voQTSmMFvxrGOg8YTWpOR/Kgh9ctuUPaZlkY';

beforeAll(async () => {
  writer = await openWriter();
});
afterAll(() => writer.close());

async function entriesOf(action: string, id: string): Promise<number> {
  const rows = await sql(`SELECT 1 FROM audit_entry WHERE action = $1 AND target_id = $2`, [action, id]);
  return rows.length;
}

/** Runs `work` while the attacker's trigger modifies the rows that the service writes to a table. */
async function withTrigger<T>(table: string, body: string, work: () => Promise<T>, when = 'BEFORE INSERT'): Promise<T> {
  await sql(
    `CREATE OR REPLACE FUNCTION attack() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$`,
  );
  await sql(`CREATE TRIGGER attack ${when} ON ${table} FOR EACH ROW EXECUTE FUNCTION attack()`);
  try {
    return await work();
  } finally {
    await sql(`DROP TRIGGER attack ON ${table}`);
  }
}

describe('a signing key', () => {
  it('is not used while its row has a different name than the one that policies cover', async () => {
    const members = await newApprovers(writer.place, 1);
    const { key } = await newGuardedKey(writer.place, [{ members, threshold: 1 }]);
    expect((await signWith(key.name, 'guarded')).status).toBe(202);
    await sql(`UPDATE signing_key SET name = 'unguarded' WHERE id = $1`, [key.id]);
    const back = `UPDATE signing_key SET name = '${key.name}' WHERE id = '${key.id}';`;
    // Looks the key up by its ID, because no process has cached the key under its ID yet.
    const answer = await withTrigger('signing_request', back, () => signWith(key.id, 'guarded'), 'AFTER INSERT');
    assertProblem(answer, changed);
    await sql(`UPDATE signing_key SET name = $2 WHERE id = $1`, [key.id, key.name]);
    expect((await signWith(key.id, 'guarded')).status).toBe(202);
  });

  it('keeps its limits and stays disabled when SQL removes them', async () => {
    for (const lift of [`constraints = '{}'`, `constraints = '{}', revision = revision + 1`, `owner_id = 'mallory'`]) {
      const key = await createKey(writer.service, writer.apiKey, {
        name: unique('limited'),
        type: 'ec-p256',
        constraints: { algorithms: ['sha512'] },
      });
      await sql(`UPDATE signing_key SET ${lift} WHERE id = $1`, [key.id]);
      assertProblem(await signWith(key.name, 'lifted'), changed);
    }
    const key = await createKey(writer.service, writer.apiKey, { name: unique('disabled'), type: 'ec-p256' });
    expect((await ask('POST', `/api/v1/signing-keys/${key.id}/disable`)).status).toBe(200);
    await sql(`UPDATE signing_key SET state = 'ACTIVE', revision = revision + 1 WHERE id = $1`, [key.id]);
    assertProblem(await signWith(key.name, 'enabled'), changed);
    assertProblem(await ask('POST', `/api/v1/signing-keys/${key.id}/rotate`, {}), changed);
  });

  it('is disabled in the log even if an earlier, disabled row was put back before', async () => {
    const key = await createKey(writer.service, writer.apiKey, { name: unique('withdrawn'), type: 'ec-p256' });
    const move = async (to: 'disable' | 'enable') =>
      expect((await ask('POST', `/api/v1/signing-keys/${key.id}/${to}`)).status).toBe(200);
    await move('disable');
    const [earlier] = await sql<{ state: string; revision: number; seal: Buffer }>(
      `SELECT state, revision, seal FROM signing_key WHERE id = $1`,
      [key.id],
    );
    await move('enable');
    await sql(`UPDATE signing_key SET state = $2, revision = $3, seal = $4 WHERE id = $1`, [
      key.id,
      earlier?.state,
      earlier?.revision,
      earlier?.seal,
    ]);
    await move('disable');
    expect(await entriesOf('signing-key.disabled', key.id)).toBe(2);
    // A repeated call adds no entry.
    await move('disable');
    expect(await entriesOf('signing-key.disabled', key.id)).toBe(2);
  });

  it('is not destroyed because of rows that were inserted with SQL', async () => {
    const key = await createKey(writer.service, writer.apiKey, { name: unique('kept'), type: 'ec-p256' });
    await sql(`UPDATE signing_key SET state = 'PENDING_DESTRUCTION' WHERE id = $1`, [key.id]);
    await sql(`INSERT INTO signing_key_destruction (key_id, destroy_at) VALUES ($1, now() - interval '1 day')`, [
      key.id,
    ]);
    await until('a look at it', 10, async () => {
      const [row] = await sql<{ seen: boolean }>(
        `SELECT lease_until IS NOT NULL AS seen FROM signing_key_destruction WHERE key_id = $1`,
        [key.id],
      );
      return row?.seen;
    });
    await sql(`DELETE FROM signing_key_destruction WHERE key_id = $1`, [key.id]);
    await sql(`UPDATE signing_key SET state = 'ACTIVE' WHERE id = $1`, [key.id]);
    expect((await signWith(key.name, 'kept')).status).toBe(200);
  });
});

describe('a certificate of a signing key', () => {
  it('is not put into signatures if SQL inserted it', async () => {
    const key = await createKey(writer.service, writer.apiKey, { name: unique('certified'), type: 'ec-p256' });
    await sql(
      `INSERT INTO certificate (id, key_id, key_version, subject, issuer, serial_number, fingerprint, not_before, not_after, purposes, chain, owner_id)
       VALUES (gen_random_uuid(), $1, 1, 'CN=Forged', 'CN=Forged', '1', $2, now(), now() + interval '1 day', '{}', ARRAY[$2]::bytea[], 'nobody')`,
      [key.id, Buffer.from(key.id)],
    );
    assertProblem(await signWith(key.name, 'certified', { format: 'cms' }), changed);
  });

  it('is not signed for a public key that SQL assigned to the key during composition', async () => {
    const [key, other] = await Promise.all(
      ['named', 'other'].map((name) =>
        createKey(writer.service, writer.apiKey, { name: unique(name), type: 'ec-p256' }),
      ),
    );
    const give = (from: string | undefined) =>
      sql(`UPDATE signing_key_version SET public_key = $2 WHERE key_id = $1`, [
        key?.id,
        createPublicKey(from ?? '').export({ format: 'der', type: 'spki' }),
      ]);
    await give(other?.publicKey);
    await ask('POST', `/api/v1/signing-keys/${key?.id}/self-signed-certificate`, {
      subject: { commonName: 'Release' },
    });
    await give(key?.publicKey);
    const requests = () =>
      sql<{ status: string; code: string | null; signature: Buffer | null }>(
        `SELECT status, failure_code AS code, signature FROM signing_request WHERE key_id = $1`,
        [key?.id],
      );
    const ended = await until('an end', 20, async () => {
      const [row] = await requests();
      return row !== undefined && ['FAILED', 'SIGNED'].includes(row.status) ? row : undefined;
    });
    expect(ended).toEqual({ status: 'FAILED', code: 'signing.not-logged', signature: null });
  });
});

describe('an SSH CA', () => {
  const order = (more: object = {}) => ({
    publicKey: PUBLIC_KEY,
    keyId: unique('bob'),
    principals: ['bob'],
    validAfter: new Date().toISOString(),
    validBefore: new Date(Date.now() + 600_000).toISOString(),
    ...more,
  });
  const authority = async (): Promise<{ id: string; name: string }> =>
    (await ask('POST', '/v1/ssh-ca', { name: unique('logins'), kind: 'user' })).body as { id: string; name: string };
  const issue = ({ id }: { id: string }, more: object = {}) =>
    ask('POST', `/v1/ssh-ca/${id}/certificates`, order(more));

  it('is retired in the log even if SQL changed its state before', async () => {
    const { id } = await authority();
    await sql(`UPDATE ssh_authority SET state = 'RETIRING' WHERE id = $1`, [id]);
    await ask('POST', `/v1/ssh-ca/${id}/retire`, { state: 'RETIRING' });
    expect(await entriesOf('ssh-ca.retiring', id)).toBe(1);
    await sql(`UPDATE ssh_authority SET state = 'ACTIVE' WHERE id = $1`, [id]);
  });

  it('certifies nothing under a different name than the one that policies cover', async () => {
    const { body: group } = await newGroup(writer.place, await newApprovers(writer.place, 1));
    const guarded = await authority();
    const stages = [{ group: group.id, threshold: 1 }];
    await ask('POST', '/api/v1/approval-policies', {
      name: unique('policy'),
      subject: 'ssh-certificate',
      keys: [guarded.name],
      stages,
    });
    expect((await issue(guarded)).body.status).toBe('PENDING_APPROVAL');
    await sql(`UPDATE ssh_authority SET name = 'unguarded' WHERE id = $1`, [guarded.id]);
    assertProblem(await issue(guarded), changed);
    await sql(`UPDATE ssh_authority SET name = $2 WHERE id = $1`, [guarded.id, guarded.name]);
    expect((await issue(guarded)).body.status).toBe('PENDING_APPROVAL');
  });

  it('is not listed as trusted for hosts if it was inserted into the database', async () => {
    const { id } = await authority();
    await sql(
      `INSERT INTO ssh_authority (id, name, kind, cka_id, public_key, seal)
       SELECT gen_random_uuid(), 'inserted', kind, cka_id, public_key, seal FROM ssh_authority WHERE id = $1`,
      [id],
    );
    const { body } = await writer.service.call('GET', '/v1/ssh-ca/trusted-user-ca-keys');
    expect(body).toContain('logins-');
    expect(body).not.toContain('inserted');
    await sql(`DELETE FROM ssh_authority WHERE name = 'inserted'`);
  });

  it('certifies what was requested even if a trigger changes the row, and never logs anything else', async () => {
    const open = await authority();
    for (const change of [
      `NEW.principals = '{root}';`,
      `NEW.valid_before = now() + interval '10 years';`,
      `NEW.key_id = 'admin';`,
      `NEW.request = NEW.request || '{"forceCommand": "sh"}';`,
    ]) {
      const { body } = await withTrigger('ssh_certificate', change, () => issue(open));
      expect(body).toMatchObject({ status: 'FAILED', failure: { code: 'ssh-ca.not-approved' } });
    }
    const entries = await sql<{ principals: string[] }>(
      `SELECT detail -> 'principals' AS principals FROM audit_entry WHERE target_id = $1 AND action = 'ssh-ca.certified'`,
      [open.id],
    );
    expect(entries.map(({ principals }) => principals)).toEqual([['bob'], ['bob'], ['bob'], ['bob']]);
    expect((await issue(open)).body).toMatchObject({ status: 'ISSUED', principals: ['bob'] });
  });

  it('keeps revocations on its list if their row is deleted or never written', async () => {
    const { id } = await authority();
    const list = async (kind = id) =>
      Buffer.from(await (await fetch(`${writer.service.url}/v1/ssh-ca/${kind}/krl`)).arrayBuffer());
    const revoke = (value: string) => ask('POST', `/v1/ssh-ca/${id}/revocations`, { kind: 'keyId', value });
    expect((await revoke('stolen-one')).status).toBe(204);
    await withTrigger('ssh_revocation', 'IF true THEN RETURN NULL; END IF;', () => revoke('stolen-two'));
    await sql(`DELETE FROM ssh_revocation`);
    await sql(`UPDATE ssh_authority SET list_version = list_version + 1`);
    expect((await list()).includes('stolen-one')).toBe(true);
    expect((await list()).includes('stolen-two')).toBe(true);
  });

  it('does not put revocations on its list that SQL inserted', async () => {
    const { id } = await authority();
    const list = async () =>
      Buffer.from(await (await fetch(`${writer.service.url}/v1/ssh-ca/${id}/krl`)).arrayBuffer());
    const revoke = (value: string) => ask('POST', `/v1/ssh-ca/${id}/revocations`, { kind: 'keyId', value });
    expect((await revoke('really-revoked')).status).toBe(204);
    await sql(
      `INSERT INTO ssh_revocation (id, authority_id, kind, value) VALUES (gen_random_uuid(), '${id}', 'keyId', 'inserted-one')`,
    );
    await sql(`UPDATE ssh_authority SET list_version = list_version + 1`);
    await expect.poll(async () => (await list()).includes('inserted-one'), { timeout: 30_000 }).toBe(false);
    expect((await list()).includes('really-revoked')).toBe(true);
  });

  it('keeps revocations on its list while both row and entry are missing', async () => {
    const { id } = await authority();
    const list = async () =>
      Buffer.from(await (await fetch(`${writer.service.url}/v1/ssh-ca/${id}/krl`)).arrayBuffer());
    await ask('POST', `/v1/ssh-ca/${id}/revocations`, { kind: 'keyId', value: 'stolen-three' });
    expect((await list()).includes('stolen-three')).toBe(true);
    const owner = new DatabaseOwner(writer.place.stage);
    const back = await owner.keep('audit_entry', `target_id = '${id}' AND action = 'ssh-ca.revoked'`);
    await sql(`DELETE FROM audit_entry WHERE target_id = '${id}' AND action = 'ssh-ca.revoked'`);
    await sql(`DELETE FROM ssh_revocation`);
    await sql(`UPDATE ssh_authority SET list_version = list_version + 7`);
    expect((await list()).includes('stolen-three')).toBe(true);
    await back();
  });
});

describe('a forged request', () => {
  /** Creates an asynchronous request and prevents the workers from claiming it. */
  const heldBack = async (key: string, text: string): Promise<string> => {
    const answer = await withTrigger('signing_request', `NEW.status = 'PENDING_APPROVAL';`, () =>
      signWith(key, text, { async: true }),
    );
    return answer.body.requestId as string;
  };
  const released = async (id: string, also = '') => {
    await sql(
      `UPDATE signing_request SET status = 'QUEUED', sweep_at = now(), released_at = now()${also} WHERE id = $1`,
      [id],
    );
    return writer.ended(id);
  };

  it('is not signed after the seal of its entry was removed, neither unchanged nor by another key', async () => {
    const members = await newApprovers(writer.place, 1);
    const { key: guarded } = await newGuardedKey(writer.place, [{ members, threshold: 1 }]);
    const [same, moved] = [await heldBack('default', 'same'), await heldBack('default', 'moved')];
    await writer.settled();
    await sql(`UPDATE audit_entry SET seal = NULL WHERE target_id = ANY($1)`, [[same, moved]]);
    const refused = { code: 'signing.not-logged', signature: null };
    expect(await released(same)).toMatchObject(refused);
    expect(await released(moved, `, key_id = '${guarded.id}'`)).toMatchObject(refused);
  });

  it('obtains only signatures over bytes whose digest is in the log, with ML-DSA or any other scheme', async () => {
    const key = await createKey(writer.service, writer.apiKey, { name: unique('pq'), type: 'ml-dsa-44' });
    const inserted = await heldBack(key.name, 'raw');
    await sql(
      `INSERT INTO signing_envelope (request_id, to_be_signed, signed_digest, timestamped) VALUES ($1, 'chosen', NULL, false)`,
      [inserted],
    );
    const refused = { code: 'signing.not-logged', signature: null };
    expect(await released(inserted, ', enveloped = true')).toMatchObject(refused);
    const { body } = await withTrigger('signing_request', `NEW.status = 'PENDING_APPROVAL';`, () =>
      signWith('default', 'wrapped', { format: 'dsse', async: true }),
    );
    await sql(`UPDATE signing_envelope SET to_be_signed = 'chosen' WHERE request_id = $1`, [body.requestId]);
    expect(await released(body.requestId as string)).toMatchObject(refused);
    const honest = await signWith(key.name, 'honest');
    const signature = Buffer.from(honest.body.signature as string, 'base64');
    const digest = Buffer.from(digestOf('honest'), 'base64');
    const context = Buffer.from('sealwright digest sha256');
    expect(verify(null, digest, { key: createPublicKey(key.publicKey), context }, signature)).toBe(true);
  });

  it('is neither accepted nor signed without its audit log entry', async () => {
    const dropped = `IF NEW.action = 'signing.accepted' THEN RETURN NULL; END IF;`;
    const answer = await withTrigger('audit_entry', dropped, () => signWith('default', 'unlogged'));
    assertProblem(answer, { status: 503, code: 'row.not-written' });
    const rows = await sql(`SELECT 1 FROM signing_request WHERE digest = $1`, [
      Buffer.from(digestOf('unlogged'), 'base64'),
    ]);
    expect(rows).toEqual([]);
    const kept = await createKey(writer.service, writer.apiKey, { name: unique('kept'), type: 'ec-p256' });
    const end = `IF NEW.action = 'signing-key.disabled' THEN RETURN NULL; END IF;`;
    const disabled = await withTrigger('audit_entry', end, () =>
      ask('POST', `/api/v1/signing-keys/${kept.id}/disable`),
    );
    assertProblem(disabled, { status: 503, code: 'row.not-written' });
  });

  it('is not reported as done if the database drops the change', async () => {
    const key = await createKey(writer.service, writer.apiKey, { name: unique('enabled'), type: 'ec-p256' });
    const answer = await withTrigger(
      'signing_key',
      'IF true THEN RETURN NULL; END IF;',
      () => ask('POST', `/api/v1/signing-keys/${key.id}/disable`),
      'BEFORE UPDATE',
    );
    assertProblem(answer, { status: 503, code: 'row.not-written' });
  });
});
