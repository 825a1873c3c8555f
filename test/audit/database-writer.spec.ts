import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noteText } from '../../src/verifier/signed-note.js';
import { type Approver, held, newApprovers, newGuardedKey, vote } from '../approvals/approvers.js';
import { createKey, digestOf, type PublishedKey, read } from '../support/signing.js';
import { entryIn, openWriter, type Writer } from './writer.js';

/**
 * The attacker owns the database and can disable every trigger. Each test forges an event that did not happen. The service must refuse the forgery, or the
 * auditor who kept the log's key and a checkpoint must detect it.
 */
let writer: Writer;
let service: Writer['service'];
let apiKey: Writer['apiKey'];
let place: Writer['place'];
let sql: Writer['sql'];
let settled: Writer['settled'];
let found: Writer['found'];
let signedBy: Writer['signedBy'];
let ended: Writer['ended'];
let evidenceFaults: Writer['evidenceFaults'];
let insertWaiting: Writer['insertWaiting'];
let insertQueued: Writer['insertQueued'];
let pointedAt: Writer['pointedAt'];

beforeAll(async () => {
  writer = await openWriter();
  ({
    service,
    apiKey,
    place,
    sql,
    settled,
    found,
    signedBy,
    ended,
    evidenceFaults,
    insertWaiting,
    insertQueued,
    pointedAt,
  } = writer);
});
afterAll(() => writer.close());

describe('separation of key purposes', () => {
  it('prevents the log key from signing a forged checkpoint', async () => {
    const note = noteText({ origin: 'localhost/log', size: 7, root: randomBytes(32) });
    const digest = createHash('sha256').update(note).digest();
    const body = await pointedAt('as-log', `SELECT cka_id, public_key FROM log_key`, digest);
    expect(body.code).toBe('hsm.other-key');
  });

  it('prevents the timestamping key from signing a digest of a caller', async () => {
    const tsa = await service.call('POST', '/api/v1/signing-keys', {
      key: apiKey,
      body: { name: 'stamps', type: 'ec-p256', purpose: 'timestamping' },
    });
    const pair = `SELECT cka_id, public_key FROM signing_key_version WHERE key_id = '${tsa.body.id}'`;
    expect((await pointedAt('as-tsa', pair)).code).toBe('hsm.other-key');
    await place.stage.change(`UPDATE signing_key SET purpose = 'signing', revision = revision + 1 WHERE id = $1`, [
      tsa.body.id,
    ]);
    expect((await signedBy(tsa.body.id, 'x')).code).toBe('hsm.other-key');
    await place.stage.change(`UPDATE signing_key SET purpose = 'timestamping' WHERE id = $1`, [tsa.body.id]);
  });

  it('prevents an SSH CA key from signing a digest of a caller', async () => {
    const made = await service.call('POST', '/v1/ssh-ca', { key: apiKey, body: { name: 'users', kind: 'user' } });
    expect([200, 201]).toContain(made.status);
    expect((await pointedAt('as-ca', `SELECT cka_id, public_key FROM ssh_authority LIMIT 1`)).code).toBe(
      'hsm.other-key',
    );
  });

  it('prevents a guarded key from signing under the name of an unguarded one', async () => {
    const members = await newApprovers(place, 1);
    const { key } = await newGuardedKey(place, [{ members, threshold: 1 }]);
    const pair = `SELECT cka_id, public_key FROM signing_key_version WHERE key_id = '${key.id}'`;
    expect((await pointedAt('as-guarded', pair)).code).toBe('hsm.other-key');
  });
});

describe('forged requests and approvals', () => {
  let members: Approver[];
  let guarded: PublishedKey;

  beforeAll(async () => {
    members = await newApprovers(place, 2);
    ({ key: guarded } = await newGuardedKey(place, [{ members, threshold: 2 }]));
  });

  it('a row inserted into the queue is not signed, because it is not in the log', async () => {
    const free = await createKey(service, apiKey, { name: 'free', type: 'ec-p256' });
    for (const key of [guarded, free])
      expect(await ended(await insertQueued(key))).toMatchObject({ code: 'signing.not-logged', signature: null });
    const composed = await insertQueued(guarded, { composed: true });
    expect(await ended(composed)).toMatchObject({ code: 'signing.not-logged', signature: null });
  });

  it('a row inserted with an entry about its acceptance is not signed either', async () => {
    const requestedBy = randomUUID();
    const digest = randomBytes(32);
    const id = randomUUID();
    const said = {
      to: 'QUEUED',
      attempt: 0,
      key: guarded.name,
      keyVersion: 1,
      algorithm: 'sha256',
      scheme: 'ecdsa-der',
    };
    const detail = { ...said, format: 'raw', digest: digest.toString('base64') };
    const entry = await insertWaiting('signing.accepted', { kind: 'signing-request', id }, detail, requestedBy);
    await insertQueued(guarded, { id, digest, requested_by: requestedBy });
    expect(await ended(id)).toMatchObject({ code: 'signing.not-logged', signature: null });
    await settled();
    expect(await found()).toContain(`its entry ${entry} was not written by the service`);
  });

  it('a pending request is not released by changing the state of its approval', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('flipped'), key: guarded.name });
    await sql(`UPDATE approval SET status = 'APPROVED', decided_at = now(), group_id = NULL WHERE id = $1`, [
      approvalId,
    ]);
    await sql(`UPDATE signing_request SET status = 'QUEUED', sweep_at = now() WHERE id = $1`, [requestId]);
    expect(await ended(requestId)).toMatchObject({ code: 'approval.mismatch', signature: null });
  });

  it('a pending request is not released by forged votes, with or without entries', async () => {
    for (const withEntries of [false, true]) {
      const { requestId, approvalId } = await held(place, {
        digest: digestOf(`voted ${withEntries}`),
        key: guarded.name,
      });
      await sql(
        `INSERT INTO approval_vote (approval_id, user_id, user_name, decision, stage, hash)
         SELECT a.id, m.id, 'Ann Example', 'APPROVE', 0, a.hash FROM approval a, unnest($2::uuid[]) AS m(id) WHERE a.id = $1`,
        [approvalId, members.map(({ id }) => id)],
      );
      if (withEntries) {
        const [approval] = await sql<{ hash: Buffer }>(`SELECT hash FROM approval WHERE id = $1`, [approvalId]);
        const detail = {
          stage: 0,
          subject: 'signing-request',
          subjectId: requestId,
          hash: approval?.hash.toString('base64'),
        };
        for (const { id } of members) {
          await insertWaiting('approval.approved', { kind: 'approval', id: approvalId }, detail, id);
        }
      }
      await sql(`UPDATE approval SET status = 'APPROVED', decided_at = now(), group_id = NULL WHERE id = $1`, [
        approvalId,
      ]);
      await sql(`UPDATE signing_request SET status = 'QUEUED', sweep_at = now() WHERE id = $1`, [requestId]);
      expect(await ended(requestId)).toMatchObject({ code: 'approval.mismatch', signature: null });
    }
    await settled();
    expect(await found()).toContain('was not written by the service');
  });

  it('a request that people approved is signed, and its evidence is complete', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('approved'), key: guarded.name });
    for (const member of members) await vote(service, approvalId, member);
    expect((await read(service, apiKey, requestId)).body.status).toBe('SIGNED');
    expect(await evidenceFaults(requestId)).toEqual([]);
  });

  it('changes to the rows of a signed request show in its evidence', async () => {
    const { id } = await signedBy('default', 'to be changed');
    expect(await evidenceFaults(id)).toEqual([]);
    const [key] = await sql<{ evidence: object; publicKey: Buffer }>(
      `SELECT v.evidence, v.public_key AS "publicKey" FROM signing_key_version v JOIN signing_key k ON k.id = v.key_id WHERE k.name = 'default'`,
    );
    const change = (column: string, value: unknown) =>
      sql(
        `UPDATE signing_key_version v SET ${column} = $1 FROM signing_key k WHERE k.id = v.key_id AND k.name = 'default'`,
        [value],
      );
    await change('evidence', JSON.stringify({ ...key?.evidence, tokenModel: 'a better HSM' }));
    expect(await evidenceFaults(id)).toEqual(['the log has different key attributes']);
    await change('evidence', JSON.stringify(key?.evidence));
    const other = await createKey(service, apiKey, { name: 'another', type: 'ec-p256' });
    expect(await evidenceFaults(id, (evidence) => (evidence.key.publicKey = other.publicKey))).toEqual([
      'the log has a different public key',
    ]);
    await sql(`UPDATE signing_request SET digest = $1 WHERE id = $2`, [randomBytes(32), id]);
    expect(await evidenceFaults(id)).toEqual([expect.stringMatching(/^the log has a different digest/)]);
  });

  it('an approval removed from the rows or from the file is detected', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('cut out'), key: guarded.name });
    for (const member of members) await vote(service, approvalId, member);
    await read(service, apiKey, requestId);
    const cut = await evidenceFaults(requestId, (evidence) => {
      delete evidence.approval;
      delete evidence.request.approvalId;
      evidence.log.leaves = evidence.log.leaves.filter((leaf) => entryIn(leaf).target.id !== approvalId);
    });
    expect(cut).toContain('the approval of the request is missing');
    await sql(`UPDATE signing_request SET approval_id = NULL WHERE id = $1`, [requestId]);
    expect(await evidenceFaults(requestId)).toContain('the approval of the request is missing');
  });

  it('each step removed from the file is detected', async () => {
    const { requestId, approvalId } = await held(place, { digest: digestOf('steps'), key: guarded.name });
    for (const member of members) await vote(service, approvalId, member);
    await read(service, apiKey, requestId);
    const steps = ['signing.accepted', 'signing.approved', 'signing.claimed', 'signing.signed', 'approval.requested'];
    for (const step of [...steps, 'approval.decided', 'approval.approved']) {
      const faults = await evidenceFaults(requestId, (evidence) => {
        evidence.log.leaves = evidence.log.leaves.filter((leaf) => entryIn(leaf).action !== step);
      });
      expect([step, faults.length > 0]).toEqual([step, true]);
    }
  });
});
