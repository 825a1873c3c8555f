import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyEvidence } from '../../src/verifier/evidence-verifier.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf, type PublishedKey, read, until, verifies } from '../support/signing.js';
import { openStage } from '../support/stage.js';
import { approval, type Approver, newApprovers, newGuardedKey, type ApprovalFixture, vote } from './approvers.js';

let place: ApprovalFixture;
let worker: Service;
let people: Approver[];
let key: PublishedKey;

beforeAll(async () => {
  const stage = await openStage({ shim: true });
  const { apiKey } = await stage.seed();
  place = { stage, apiKey, service: await stage.start({ role: 'api' }) };
  worker = await stage.start({ role: 'worker' });
  people = await newApprovers(place, 5);
  ({ key } = await newGuardedKey(place, [{ members: people, threshold: 2 }]));
});
afterAll(() => place.stage.close());

interface Item {
  readonly index: number;
  readonly status: string;
  readonly requestId: string;
  readonly approvalId: string;
  readonly signature: string;
  readonly failure?: { readonly code: string };
}

interface Asked {
  readonly messages: string[];
  readonly batchId: string;
  readonly approvalId: string;
  readonly items: Item[];
}

/** Requests a batch that requires one approval. */
async function ask(count: number, keyName = key.name): Promise<Asked> {
  const messages = Array.from({ length: count }, () => randomUUID());
  const items = messages.map((message, i) => ({ digest: digestOf(message), metadata: { filename: `file-${i}.exe` } }));
  const { status, body } = await place.service.call('POST', '/api/v1/sign/batch', {
    key: place.apiKey,
    body: { items, key: keyName },
  });
  expect([status, body.status]).toEqual([202, 'PENDING']);
  const ids = new Set((body.items as Item[]).map(({ approvalId }) => approvalId));
  expect(ids.size).toBe(1);
  return { messages, batchId: body.batchId, approvalId: [...ids][0] ?? '', items: body.items };
}

async function done({ batchId }: Asked): Promise<Item[]> {
  const path = `/api/v1/sign/batches/${batchId}?wait=30`;
  const { body } = await place.service.call('GET', path, { key: place.apiKey });
  expect(body.status).toBe('DONE');
  return body.items;
}

/** Returns how often the HSM was asked to sign each 32-byte digest, according to the shim's journal. */
function operations(): Map<string, number> {
  const asks = place.stage.shim?.journal().filter(({ kind }) => kind === 'ask') ?? [];
  const digests = asks.map(({ hex }) => Buffer.from(hex.slice(-64), 'hex').toString('base64'));
  return new Map([...Map.groupBy(digests, (digest) => digest)].map(([digest, all]) => [digest, all.length]));
}

async function approve(approvalId: string, by = people.slice(0, 2)): Promise<void> {
  for (const person of by) expect((await vote(place.service, approvalId, person)).status).toBe(200);
}

describe('one approval for a batch of 1,000', () => {
  let asked: Asked;
  let signed: Item[];

  beforeAll(async () => {
    asked = await ask(1000);
    // Five people make four calls each, but only two votes count.
    const calls = people.flatMap((person) => [person, person, person, person]);
    const answers = await Promise.all(calls.map((person) => vote(place.service, asked.approvalId, person)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    signed = await done(asked);
  });

  it('shows every item, and one hash over all items', async () => {
    const { body } = await approval(place, asked.approvalId);
    expect(body).toMatchObject({ status: 'APPROVED', subject: { kind: 'signing-batch', id: asked.batchId } });
    expect(body.title).toBe(`Sign 1000 files with the key ${key.name}: file-0.exe, file-1.exe, file-2.exe, …`);
    expect(body.shown.items).toHaveLength(1000);
    expect(body.shown.items[421]).toMatchObject({
      index: 421,
      file: 'file-421.exe',
      algorithm: 'sha256',
      digest: digestOf(asked.messages[421] ?? ''),
      requestId: asked.items[421]?.requestId,
    });
    const { body: list } = await place.service.call('GET', '/api/v1/approvals?limit=1', { key: place.apiKey });
    expect(list.items[0]).toMatchObject({ id: asked.approvalId, shown: { size: 1000, manifest: body.shown.manifest } });
    expect(list.items[0].shown.items).toBeUndefined();
    expect(list.items[0].shown.details).toBeUndefined();
    // Lists do not read a batch's document.
    const shown = await place.stage.sql<{ shown: string }>(`SELECT shown FROM approval WHERE id = $1`, [asked.approvalId]); // prettier-ignore
    const store = (text: string) =>
      place.stage.sql(`UPDATE approval SET shown = $2 WHERE id = $1`, [asked.approvalId, text]);
    await store('{');
    const again = await place.service.call('GET', '/api/v1/approvals?limit=1', { key: place.apiKey });
    await store(shown[0]?.shown ?? '');
    expect(again.body.items).toEqual(list.items);
    expect(body.shown.details[421]).toMatchObject({
      index: 421,
      format: 'raw',
      metadata: { filename: 'file-421.exe' },
    });
  });

  it('signs each item once, however many people vote concurrently', () => {
    const isRight = ({ index, status, signature }: Item) =>
      status === 'SIGNED' && verifies(asked.messages[index] ?? '', key, Buffer.from(signature, 'base64'));
    expect(signed.filter(isRight)).toHaveLength(1000);
    const asks = operations();
    expect(asked.messages.map((message) => asks.get(digestOf(message)))).toEqual(asked.messages.map(() => 1));
  });

  it('is proven for a single item without the others', async () => {
    const path = `/api/v1/sign/requests/${asked.items[421]?.requestId}/evidence`;
    const { body: evidence } = await place.service.call('GET', path, { key: place.apiKey });
    expect(verifyEvidence(evidence)).toEqual([]);
    expect(evidence.approval).toMatchObject({ place: 421, shown: { metadata: { filename: 'file-421.exe' } } });
    const moved = { ...evidence, approval: { ...evidence.approval, place: 420 } };
    expect(verifyEvidence(moved)).toEqual(['the log has no approval of this request']);
    evidence.approval.shown.metadata.filename = 'other.exe';
    expect(verifyEvidence(evidence)).toEqual(['the log has no approval of this request']);
  });
});

const rotate = (id: string) =>
  place.service.call('POST', `/api/v1/signing-keys/${id}/rotate`, { key: place.apiKey, body: {} });
const CHANGES = [
  `digest = set_byte(digest, 7, get_byte(digest, 7) # 1)`,
  `metadata = '{"filename": "other.exe"}'`,
  `batch_index = 7`,
  `approval_id = NULL`,
  `approval_id = NULL, batch_id = NULL`,
];

describe('when data changes between the votes and the signatures', () => {
  let changed: Asked;
  let relabelled: Asked;
  const rotated: Record<string, Asked & { key: string }> = {};

  beforeAll(async () => {
    [changed, relabelled] = [await ask(8), await ask(2)];
    for (const when of ['before', 'after']) {
      const guarded = await newGuardedKey(place, [{ members: people, threshold: 2 }]);
      rotated[when] = { ...(await ask(3, guarded.key.name)), key: guarded.key.id };
    }
    await worker.kill('SIGKILL');
    for (const { approvalId } of [changed, relabelled, rotated['after'] as Asked]) await approve(approvalId);
    for (const [i, change] of CHANGES.entries())
      await place.stage.sql(`UPDATE signing_request SET ${change} WHERE id = $1`, [changed.items[i]?.requestId]);
    await place.stage.sql(`UPDATE approval SET shown = replace(shown, 'file-0.exe', 'file-9.exe') WHERE id = $1`, [
      relabelled.approvalId,
    ]);
    for (const { key: id } of Object.values(rotated)) await rotate(id);
    worker = await place.stage.start({ role: 'worker' });
  });

  it('an item modified in the database fails alone, and the others are signed', async () => {
    const ended = await Promise.all(
      changed.items.map(async ({ requestId }) => (await read(place.service, place.apiKey, requestId, 15)).body),
    );
    expect(ended.map(({ failure, status }) => failure?.code ?? status)).toEqual([
      ...CHANGES.map(() => 'approval.mismatch'),
      'SIGNED',
      'SIGNED',
      'SIGNED',
    ]);
    const asks = operations();
    expect(CHANGES.map((_, i) => asks.get(digestOf(changed.messages[i] ?? '')))).toEqual(CHANGES.map(() => undefined));
  });

  it('nothing is signed if the document was modified', async () => {
    expect((await done(relabelled)).map(({ failure }) => failure?.code)).toEqual([
      'approval.mismatch',
      'approval.mismatch',
    ]);
  });

  it.each(['before', 'after'])('all items are approved again if the key was rotated %s the last vote', async (when) => {
    const asked = rotated[when] as Asked;
    const id = await until('another approval', 30, async () => {
      const { body } = await read(place.service, place.apiKey, asked.items[0]?.requestId ?? '', 0);
      return body.approvalId !== asked.approvalId && (body.approvalId as string);
    });
    const old = await approval(place, asked.approvalId);
    expect(old.body.status).toBe(when === 'after' ? 'APPROVED' : 'SUPERSEDED');
    const late = await vote(place.service, asked.approvalId, people[4] as Approver);
    assertProblem(late, { status: 409, code: 'approval.decided' });
    const { body } = await approval(place, id);
    expect(body.shown.items.map(({ key: used }: { key: { version: number } }) => used.version)).toEqual([2, 2, 2]);
    await approve(id);
    expect((await done(asked)).map(({ status }) => status)).toEqual(['SIGNED', 'SIGNED', 'SIGNED']);
    const path = `/api/v1/sign/requests/${asked.items[1]?.requestId}/evidence`;
    expect(verifyEvidence((await place.service.call('GET', path, { key: place.apiKey })).body)).toEqual([]);
  });
});

it('a rejected batch fails as a whole', async () => {
  const asked = await ask(2);
  expect((await vote(place.service, asked.approvalId, people[0] as Approver, { decision: 'reject' })).status).toBe(200);
  expect((await done(asked)).map(({ failure }) => failure?.code)).toEqual(['approval.rejected', 'approval.rejected']);
});

it('items without a policy are signed immediately, and the others share one approval', async () => {
  const conditions = [{ fact: 'metadata.branch', op: 'in', values: ['main'] }];
  const guarded = await newGuardedKey(place, [{ members: people, threshold: 1 }], { conditions });
  const item = (branch: string) => ({ digest: digestOf(randomUUID()), metadata: { branch } });
  const items = [item('main'), item('test'), item('main'), { digest: 'AAAA' }, item('test')];
  const { body } = await place.service.call('POST', '/api/v1/sign/batch', {
    key: place.apiKey,
    body: { items, key: guarded.key.name },
  });
  const statuses = (body.items as Item[]).map(({ status }) => status);
  expect(statuses).toEqual(['PENDING_APPROVAL', 'SIGNED', 'PENDING_APPROVAL', 'REFUSED', 'SIGNED']);
  expect(body.items[0].approvalId).toBe(body.items[2].approvalId);
});

describe('a batch from a Vault client', () => {
  const signAll = (messages: readonly string[], service = place.service, by = place.apiKey) => {
    const items = messages.map((message) => ({ input: digestOf(message), reference: message }));
    const body = { batch_input: [...items, { input: 'no base64!', reference: 'bad' }], prehashed: true };
    return service.call('POST', `/v1/transit/sign/${key.name}`, { key: by, body });
  };
  const errorsOf = (results: { error?: string }[]) =>
    new Set(results.map(({ error = '' }) => error.replace(/\/approvals\/\S+/, '')));
  const placesOf = (results: { error?: string }[]) =>
    new Set(results.map(({ error = '' }) => /\/approvals\/([\w-]+)/.exec(error)?.[1] ?? ''));

  it('waits for one approval, and the same call returns the signatures once it is given', async () => {
    const messages = Array.from({ length: 30 }, () => randomUUID());
    const first = (await signAll(messages)).body.data.batch_results;
    expect(errorsOf(first.slice(-1))).toEqual(
      new Set(['unable to decode input as base64: it must be RFC 4648 with padding and no line breaks (base64 -w0)']),
    );
    const [approvalId = '', ...others] = placesOf(first.slice(0, -1));
    expect(others).toEqual([]);
    expect((await approval(place, approvalId)).body.shown.items).toHaveLength(30);
    expect(placesOf((await signAll(messages)).body.data.batch_results.slice(0, -1))).toEqual(new Set([approvalId]));
    await approve(approvalId);
    const results = (await signAll(messages)).body.data.batch_results as { signature: string; reference: string }[];
    const isRight = ({ signature = '', reference }: { signature?: string; reference: string }) =>
      verifies(reference, key, Buffer.from(signature.replace('vault:v1:', ''), 'base64'));
    expect(results.slice(0, -1).map(isRight)).toEqual(messages.map(() => true));
    expect(results.map(({ reference }) => reference)).toEqual([...messages, 'bad']);
  });
});

describe('a caller at the limit of pending approvals', () => {
  const LIMIT = 3;
  let small: Service;
  let caller: string;
  const opened: string[] = [];

  const sign = (
    by = caller,
    path = '/api/v1/sign/digest',
    body: object = { digest: digestOf(randomUUID()), key: key.name },
  ) => small.call('POST', path, { key: by, body });
  const TOO_MANY = { status: 429, code: 'approval.too-many-open' };

  beforeAll(async () => {
    small = await place.stage.start({ role: 'api', settings: { SVC_APPROVALS_OPEN_PER_CALLER: String(LIMIT) } });
    caller = (await newApiKey(place.service, place.apiKey, ['sign:digest', 'sign:read', 'approvals:read'])).key;
  });

  it('cannot open more with concurrent calls, and the error states the remedy', async () => {
    const answers = await Promise.all(Array.from({ length: 9 }, () => sign()));
    opened.push(...answers.filter(({ status }) => status === 202).map(({ body }) => body.approvalId as string));
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused).toHaveLength(9 - LIMIT);
    for (const answer of refused) {
      assertProblem(answer, TOO_MANY);
      expect(answer.headers.get('retry-after')).toBe('60');
      expect(answer.body.detail).toMatch(/^You have 3 pending approvals.* withdraw approvals/);
    }
  });

  it('is refused for a whole batch, and through the Vault facade', async () => {
    const items = [1, 2].map(() => ({ digest: digestOf(randomUUID()) }));
    assertProblem(await sign(caller, '/api/v1/sign/batch', { items, key: key.name }), TOO_MANY);
    const batch = { batch_input: items.map(({ digest }) => ({ input: digest })), prehashed: true };
    const { status, body } = await sign(caller, `/v1/transit/sign/${key.name}`, batch);
    expect([status, body.errors[0]]).toEqual([429, expect.stringMatching(/^You have 3 pending approvals/)]);
  });

  it('does not affect others, and can open another once an approval has ended', async () => {
    const other = (await newApiKey(place.service, place.apiKey, ['sign:digest'])).key;
    expect((await sign(other)).status).toBe(202);
    const [first] = opened;
    expect((await small.call('POST', `/api/v1/approvals/${first}/withdraw`, { key: caller })).status).toBe(200);
    expect((await sign()).status).toBe(202);
    assertProblem(await sign(), TOO_MANY);
  });
});
