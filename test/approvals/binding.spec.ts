import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Authority } from '../support/authority.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf, type PublishedKey, read, until, verifies } from '../support/signing.js';
import { openStage } from '../support/stage.js';
import { approval, type Approver, held, newTeam, newGuardedKey, type ApprovalFixture, vote } from './approvers.js';

let place: ApprovalFixture;
let ada: Approver;
let ben: Approver;
let key: PublishedKey;
let worker: Service;

beforeAll(async () => {
  const stage = await openStage({ shim: true });
  const { apiKey } = await stage.seed();
  place = { stage, apiKey, service: await stage.start({ role: 'api' }) };
  worker = await stage.start({ role: 'worker' });
  ({ ada, ben } = await newTeam(place, 'ada', 'ben'));
  ({ key } = await newGuardedKey(place, [{ members: [ada, ben], threshold: 1 }]));
});
afterAll(() => place.stage.close());

const METADATA = { filename: 'app.tar.gz', branch: 'main' };
const TAMPERING: [what: string, change: string][] = [
  ['a byte of the digest', `digest = set_byte(digest, 7, get_byte(digest, 7) # 1)`],
  ['the algorithm', `algorithm = 'sha3-256'`],
  ['the scheme', `scheme = 'ecdsa-raw'`],
  ['the format', `format = 'jws'`],
  ['the key', `key_id = (SELECT id FROM signing_key WHERE name = 'default')`],
  ['the name of the key', `key_name = 'default'`],
  ['the version of the key', `key_version = 2`],
  ['a byte of the metadata', `metadata = jsonb_set(metadata, '{branch}', '"mein"')`],
  ['the reference', `reference = 'other'`],
  ['the owner, who may read the signature', `owner_id = 'other'`],
  ['the caller', `requested_by = 'other'`],
  ['that it is composed by a caller', `composed = true`],
  ['the link to the approval', `approval_id = NULL`],
  [
    'the link to the approval, to that of another request',
    `approval_id = (SELECT id FROM approval WHERE status = 'APPROVED' AND subject_id <> signing_request.id LIMIT 1)`,
  ],
];

async function assertNothingSigned(requestId: string, digests: string[]): Promise<void> {
  const { body } = await read(place.service, place.apiKey, requestId, 15);
  const [row] = await place.stage.sql<{ status: string; code: string; signature: Buffer | null }>(
    `SELECT status, failure_code AS code, signature FROM signing_request WHERE id = $1`,
    [requestId],
  );
  expect(row).toEqual({ status: 'FAILED', code: 'approval.mismatch', signature: null });
  expect(body.signature).toBeUndefined();
  for (const digest of digests) expect(place.stage.operationsOn(digest)).toBe(0);
}

const order = (extra: object = {}) => ({ digest: digestOf(randomUUID()), key: key.name, metadata: METADATA, ...extra });
const flipped = (digest: string) => {
  const bytes = Buffer.from(digest, 'base64');
  bytes[7] = (bytes[7] ?? 0) ^ 1;
  return bytes.toString('base64');
};

interface Changed {
  readonly requestId: string;
  /** Digest in base64 that the HSM must not have been asked to sign, either unchanged or with one bit flipped. */
  readonly digest: string;
}

const post = async (path: string, body: object) => {
  const answer = await place.service.call('POST', path, { key: place.apiKey, body });
  expect(answer.status).toBeLessThan(300);
  return answer.body;
};
const rotate = async (id: string) =>
  (await place.service.call('POST', `/api/v1/signing-keys/${id}/rotate`, { key: place.apiKey, body: {} })).body;

describe('a request modified in the database after its approval', () => {
  const changed = new Map<string, Changed>();
  let good = { requestId: '', digest: '' };
  /** IDs of a request whose key was rotated after the last vote. */
  let overtaken = { requestId: '', approvalId: '' };

  async function approved(body: ReturnType<typeof order>): Promise<{ requestId: string; approvalId: string }> {
    const asked = await held(place, body);
    expect((await vote(place.service, asked.approvalId, ada)).body.status).toBe('APPROVED');
    return asked;
  }

  beforeAll(async () => {
    const before = await approved(order());
    expect((await read(place.service, place.apiKey, before.requestId)).body.status).toBe('SIGNED');
    const rotating = (await newGuardedKey(place, [{ members: [ada], threshold: 1 }])).key;
    // The worker is killed, so that requests stay queued after their approval.
    await worker.kill('SIGKILL');
    for (const [what, change] of TAMPERING) {
      const body = order();
      const { requestId } = await approved(body);
      await place.stage.sql(`UPDATE signing_request SET ${change} WHERE id = $1`, [requestId]);
      changed.set(what, { requestId, digest: body.digest });
    }
    const pending = order();
    const asked = await held(place, pending);
    await place.stage.sql(`UPDATE signing_request SET status = 'QUEUED' WHERE id = $1`, [asked.requestId]);
    changed.set('that it was not approved', { requestId: asked.requestId, digest: pending.digest });
    const robbed = order();
    const { requestId, approvalId } = await approved(robbed);
    await place.stage.sql(`DELETE FROM approval_vote WHERE approval_id = $1`, [approvalId]);
    changed.set('a vote, which was taken away', { requestId, digest: robbed.digest });
    changed.set('the bytes behind its digest', await withOtherBytes());
    const body = order();
    good = { ...(await approved(body)), digest: body.digest };
    overtaken = await approved(order({ key: rotating.name, format: 'jws' }));
    expect((await rotate(rotating.id)).version).toBe(2);
    worker = await place.stage.start({ role: 'worker' });
  });

  async function withOtherBytes(): Promise<Changed> {
    const { requestId } = await approved(order({ format: 'jws' }));
    const [envelope] = await place.stage.sql<{ digest: Buffer }>(
      `UPDATE signing_envelope SET signed_digest = set_byte(signed_digest, 7, get_byte(signed_digest, 7) # 1)
       WHERE request_id = $1 RETURNING signed_digest AS digest`,
      [requestId],
    );
    return { requestId, digest: (envelope?.digest ?? Buffer.alloc(0)).toString('base64') };
  }

  it('is not signed, whatever was modified', async () => {
    expect(changed.size).toBe(TAMPERING.length + 3);
    for (const { requestId, digest } of changed.values())
      await assertNothingSigned(requestId, [digest, flipped(digest)]);
    expect((await read(place.service, place.apiKey, good.requestId)).body.status).toBe('SIGNED');
    expect(place.stage.operationsOn(good.digest)).toBe(1);
  });

  it('is not signed by a rotated key until it is approved again', async () => {
    const { requestId, approvalId } = overtaken;
    const renewed = await until('another approval', 30, async () => {
      const { body: view } = await read(place.service, place.apiKey, requestId, 0);
      return view.approvalId !== approvalId && view;
    });
    expect(renewed).toMatchObject({ status: 'PENDING_APPROVAL', key: { version: 2 } });
    expect((await approval(place, approvalId)).body.status).toBe('SUPERSEDED');
    expect((await vote(place.service, renewed.approvalId, ada)).body.status).toBe('APPROVED');
    expect((await read(place.service, place.apiKey, requestId)).body.status).toBe('SIGNED');
  });
});

describe('when the key is rotated during an approval', () => {
  it('approval is requested again, and earlier votes do not count', async () => {
    const rotating = (await newGuardedKey(place, [{ members: [ada, ben], threshold: 2 }])).key;
    const message = randomUUID();
    const { requestId, approvalId } = await held(place, { digest: digestOf(message), key: rotating.name });
    await vote(place.service, approvalId, ada);
    const rotated = await rotate(rotating.id);
    expect(rotated.version).toBe(2);
    const renewed = await until('another approval', 30, async () => {
      const { body } = await read(place.service, place.apiKey, requestId, 0);
      return body.approvalId !== approvalId && body;
    });
    expect(renewed).toMatchObject({ status: 'PENDING_APPROVAL', key: { version: 2 } });
    expect((await approval(place, approvalId)).body).toMatchObject({
      status: 'SUPERSEDED',
      supersededBy: renewed.approvalId,
    });
    assertProblem(await vote(place.service, approvalId, ben), { status: 409, code: 'approval.decided' });
    const asked = await approval(place, renewed.approvalId);
    expect(asked.body).toMatchObject({ status: 'PENDING', votes: [], shown: { key: { version: 2 } } });
    for (const person of [ada, ben]) await vote(place.service, renewed.approvalId, person);
    const { body } = await read(place.service, place.apiKey, requestId);
    expect(body.status).toBe('SIGNED');
    const { publicKey } = rotated as PublishedKey;
    expect(verifies(message, { ...rotating, publicKey }, Buffer.from(body.signature, 'base64'))).toBe(true);
  });
  // A worker claims requests from many callers at once. A request that cannot be signed must not block the other requests.
  it('a request that the new version cannot sign fails with the reason, and others continue', async () => {
    const authority = new Authority();
    const guarded = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
    const { csr } = await post(`/api/v1/signing-keys/${guarded.key.id}/csr`, { subject: { commonName: 'Example' } });
    await post(`/api/v1/signing-keys/${guarded.key.id}/certificate`, { chain: authority.issue(csr).chain });
    authority.remove();
    const refused = await held(place, order({ key: guarded.key.name, format: 'cms' }));
    const other = await held(place, order());
    await post(`/api/v1/signing-keys/${guarded.key.id}/rotate`, { activate: 'now' });
    await worker.kill('SIGKILL');
    for (const { approvalId } of [refused, other])
      expect((await vote(place.service, approvalId, ada)).body.status).toBe('APPROVED');
    worker = await place.stage.start({ role: 'worker' });
    const { body } = await read(place.service, place.apiKey, refused.requestId);
    expect(body).toMatchObject({ status: 'FAILED', failure: { code: 'certificate.none' } });
    expect((await read(place.service, place.apiKey, other.requestId)).body.status).toBe('SIGNED');
  });
});
