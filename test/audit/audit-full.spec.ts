import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inDays } from '../support/access.js';
import type { Service } from '../support/service.js';
import { digestOf, read, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage({ shim: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const freshDigest = (): string => digestOf(randomUUID());

/** Makes inserts into the audit log fail with the error that PostgreSQL reports when the disk is full. */
const full = () =>
  stage.sql(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER no_room BEFORE INSERT ON audit_entry FOR EACH STATEMENT EXECUTE FUNCTION no_room()`);
const roomAgain = () => stage.sql(`DROP FUNCTION IF EXISTS no_room CASCADE`);

it.each<[string, string, unknown]>([
  ['a signature', '/api/v1/sign/digest', { digest: digestOf('full') }],
  ['a signature in the background', '/api/v1/sign/digest', { digest: digestOf('full'), async: true }],
  ['a refusal', '/api/v1/sign/digest', { digest: 'no digest' }],
  ['a signing key', '/api/v1/signing-keys', { name: 'no-room', type: 'ec-p256' }],
  ['an API key', '/api/settings/api-keys', { name: 'no room', permissions: ['sign:read'], expiry: inDays(1) }],
])('%s returns 503 and has no effect when the audit log is full', async (_, path, body) => {
  const rows = () =>
    stage.sql(`SELECT (SELECT count(*) FROM signing_request) AS requests, (SELECT count(*) FROM outbox_message) AS outbox,
      (SELECT count(*) FROM signing_key) AS keys, (SELECT count(*) FROM api_key) AS api_keys`);
  const before = { rows: await rows(), hsm: stage.operationsOn(digestOf('full')) };
  await full();
  try {
    const answer = await service.call('POST', path, { key: apiKey, body });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(JSON.stringify(answer.body)).not.toMatch(/No space|audit_entry|no_room/);
    expect({ rows: await rows(), hsm: stage.operationsOn(digestOf('full')) }).toEqual(before);
  } finally {
    await roomAgain();
  }
});

it('queued requests remain unsigned, and are signed when space is available again', async () => {
  const digest = freshDigest();
  const { body } = await sign(service, { key: apiKey, body: { digest, async: true } });
  await full();
  await stage.start({ role: 'worker' });
  try {
    expect((await read(service, apiKey, body.requestId, 4)).body.status).toBe('QUEUED');
    expect(stage.operationsOn(digest)).toBe(0);
  } finally {
    await roomAgain();
  }
  expect((await read(service, apiKey, body.requestId, 20)).body.status).toBe('SIGNED');
  expect(stage.operationsOn(digest)).toBe(1);
});

it('a caller whose outcome cannot be stored does not receive the signature', async () => {
  const digest = freshDigest();
  stage.shim?.fault(`slow 1500 only ${Buffer.from(digest, 'base64').toString('hex')}`);
  const calling = sign(service, { key: apiKey, body: { digest } });
  await until('the intent is committed', 30, async () => {
    const rows = await stage.sql(`SELECT id FROM signing_request WHERE digest = decode($1, 'base64')`, [digest]);
    return rows.length === 1;
  });
  await full();
  const answer = await calling;
  await roomAgain();
  stage.shim?.fault('');
  expect(answer.status).toBe(503);
  expect(answer.body).not.toHaveProperty('signature');
  const [row] = await stage.sql<{ id: string }>(`SELECT id FROM signing_request WHERE digest = decode($1, 'base64')`, [
    digest,
  ]);
  // After the lease has expired, the log contains a second attempt and an entry that records the unknown outcome of the first attempt.
  const later = await until('another attempt', 30, async () => {
    const { body } = await read(service, apiKey, row?.id ?? '', 5);
    return body.status === 'SIGNED' && body;
  });
  expect(later).toMatchObject({ digest });
  const actions = await stage.sql<{ action: string }>(
    `SELECT action FROM audit_entry WHERE target_id = $1 ORDER BY id`,
    [row?.id],
  );
  expect(actions.map(({ action }) => action)).toContain('signing.outcome-unknown');
});
