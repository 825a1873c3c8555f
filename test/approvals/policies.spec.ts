import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer } from '../support/service.js';
import { createKey, digestOf, sign } from '../support/signing.js';
import { newGroup, newGuardedKey, newTeam, openApprovalFixture, unique, vote } from './approvers.js';

const place = await openApprovalFixture();
afterAll(() => place.stage.close());
const other = await place.stage.start({ role: 'api' });
const { ada, ben } = await newTeam(place, 'ada', 'ben');

const POLICIES = '/api/v1/approval-policies';
const GROUPS = '/api/v1/approver-groups';
const call = (method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer> =>
  place.service.call(method, path, { key: place.apiKey, body, ...(headers === undefined ? {} : { headers }) });

async function statusOf(key: string, extra: object = {}, by = place.apiKey, service = place.service): Promise<string> {
  const answer = await sign(service, { key: by, body: { digest: digestOf(randomUUID()), key, ...extra } });
  return answer.body.status as string;
}

describe.each([GROUPS, POLICIES])('%s', (path) => {
  const bodyFor = async () =>
    path === GROUPS
      ? { name: unique('group'), members: [ada.id] }
      : {
          name: unique('policy'),
          keys: [(await createKey(place.service, place.apiKey, { name: unique('key'), type: 'ec-p256' })).name],
          stages: [{ group: (await newGroup(place, [ada])).body.name, threshold: 1 }],
        };

  it('can be created, read, listed, updated and deleted', async () => {
    const body = await bodyFor();
    const made = await call('POST', path, body);
    expect(made.status).toBe(201);
    expect(made.headers.get('etag')).toBe('"1"');
    const one = `${path}/${made.body.id}`;
    expect(made.headers.get('location')).toBe(one);
    expect((await call('GET', one)).body).toEqual(made.body);
    expect((await call('GET', path)).body.items[0]).toEqual(made.body);
    const renamed = { ...body, name: unique('renamed') };
    const changed = await call('PUT', one, renamed, { 'if-match': '"1"' });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).toBe('"2"');
    expect(changed.body).toMatchObject({ id: made.body.id, name: renamed.name, version: 2 });
    expect((await call('DELETE', one)).status).toBe(204);
    expect((await call('GET', one)).status).toBe(404);
  });

  it('requires the current revision for an edit', async () => {
    const body = await bodyFor();
    const { id } = (await call('POST', path, body)).body;
    const one = `${path}/${id}`;
    assertProblem(await call('PUT', one, body), { status: 428, code: 'request.if-match-missing' });
    for (const stale of ['"2"', '"0"'])
      assertProblem(await call('PUT', one, body, { 'if-match': stale }), { status: 412, code: 'request.stale' });
    const both = [1, 2].map(() => call('PUT', one, body, { 'if-match': '"1"' }));
    const answers = await Promise.all(both);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(1);
    const kind = path === GROUPS ? 'approver-group' : 'approval-policy';
    const nobody = await call('PUT', `${path}/${randomUUID()}`, body, { 'if-match': '"1"' });
    assertProblem(nobody, { status: 404, code: `${kind}.missing` });
  });

  it('has unique names, and a repeated call creates one', async () => {
    const body = await bodyFor();
    const headers = { 'idempotency-key': randomUUID() };
    const first = await call('POST', path, body, headers);
    expect((await call('POST', path, body, headers)).body).toEqual(first.body);
    const kind = path === GROUPS ? 'approver-group' : 'approval-policy';
    assertProblem(await call('POST', path, body), { status: 409, code: `${kind}.name-taken` });
  });
});

it('an approver group accepts only existing people and groups of existing providers', async () => {
  const nobody = await call('POST', GROUPS, { name: unique('group'), members: [ada.id, randomUUID()] });
  assertProblem(nobody, { status: 422, code: 'approver-group.unknown-member', pointer: '/members/1' });
  const ssoGroups = [{ provider: 'nowhere', group: 'release' }];
  const nowhere = await call('POST', GROUPS, { name: unique('group'), members: [], ssoGroups });
  assertProblem(nowhere, { status: 422, code: 'approver-group.unknown-member', pointer: '/ssoGroups/0/provider' });
  const twice = await call('POST', GROUPS, { name: unique('group'), members: [ada.id, ada.id] });
  assertProblem(twice, { status: 400, code: 'request.invalid', pointer: '/members' });
});

it('a group required by a policy cannot be deleted', async () => {
  const { groups } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
  const one = `${GROUPS}/${groups[0]?.body.id}`;
  assertProblem(await call('DELETE', one), { status: 409, code: 'approver-group.in-use' });
});

it('a policy accepts only existing groups, each once, and valid numbers', async () => {
  const group = (await newGroup(place, [ada])).body;
  const policy = (change: object) =>
    call('POST', POLICIES, {
      name: unique('policy'),
      keys: ['any'],
      stages: [{ group: group.id, threshold: 1 }],
      ...change,
    });
  const stages = [
    { group: group.id, threshold: 1 },
    { group: group.name, threshold: 1 },
  ];
  assertProblem(await policy({ stages }), { status: 422, code: 'approval-policy.stage', pointer: '/stages/1/group' });
  const unknown = await policy({ stages: [{ group: 'nobody', threshold: 1 }] });
  assertProblem(unknown, { status: 422, code: 'approval-policy.stage', pointer: '/stages/0/group' });
  for (const [change, pointer] of [
    [{ stages: [] }, '/stages'],
    [{ stages: [{ group: group.id, threshold: 0 }] }, '/stages/0/threshold'],
    [{ keys: [] }, '/keys'],
    [{ expiresInSeconds: 0 }, '/expiresInSeconds'],
    [{ rejectThreshold: 0 }, '/rejectThreshold'],
    [{ conditions: [{ fact: 'weather', op: 'in', values: ['fair'] }] }, '/conditions/0/fact'],
    [{ conditions: [{ fact: 'format', op: 'is', values: ['raw'] }] }, '/conditions/0/op'],
    [{ conditions: [{ fact: 'format', op: 'in', values: [] }] }, '/conditions/0/values'],
    [{ scope: 'all' }, '/scope'],
  ] as const)
    assertProblem(await policy(change), { status: 400, code: 'request.invalid', pointer });
});

/** Returns the body of a policy that requires the votes of ada and ben. */
const draftPolicy = async (change: object = {}) => ({
  name: unique('policy'),
  keys: ['*'],
  stages: [{ group: (await newGroup(place, [ada, ben])).body.id as string, threshold: 2 }],
  // The condition does not match any request of the other tests.
  conditions: [{ fact: 'metadata.test', op: 'in', values: ['nothing'] }],
  ...change,
});

describe('a policy that could not work is rejected', () => {
  const noKey = { status: 422, code: 'approval-policy.key', pointer: '/keys/1' };
  const tooMany = { status: 422, code: 'approval-policy.stage', pointer: '/stages/0/threshold' };
  const group = (id: string) => `${GROUPS}/${id}`;

  it('with keys that do not exist, for any subject', async () => {
    const misspelt = unique('relaese');
    assertProblem(await call('POST', POLICIES, await draftPolicy({ keys: ['default', misspelt] })), noKey);
    const rotation = await draftPolicy({ subject: 'ssh-rotation', keys: ['*', `SHA256:${misspelt}`], conditions: [] });
    assertProblem(await call('POST', POLICIES, rotation), noKey);
    const { body: made } = await call('POST', POLICIES, await draftPolicy({ keys: ['default'] }));
    const changed = { ...(await draftPolicy()), name: made.name, keys: ['default', misspelt] };
    assertProblem(await call('PUT', `${POLICIES}/${made.id}`, changed, { 'if-match': '"1"' }), noKey);
    await call('DELETE', `${POLICIES}/${made.id}`);
  });

  it('with more votes than people', async () => {
    const { body: small } = await newGroup(place, [ada, ben]);
    const stages = [{ group: small.id as string, threshold: 3 }];
    assertProblem(await call('POST', POLICIES, await draftPolicy({ stages })), tooMany);
    const empty = await call('POST', GROUPS, { name: unique('empty'), members: [] });
    assertProblem(
      await call('POST', POLICIES, await draftPolicy({ stages: [{ group: empty.body.id, threshold: 1 }] })),
      tooMany,
    );
  });

  it('when a member leaves the group: the policy must be changed first', async () => {
    const body = await draftPolicy();
    const { body: made } = await call('POST', POLICIES, body);
    const id = body.stages[0]?.group ?? '';
    const { body: before } = await call('GET', group(id));
    const left = { name: before.name, members: [ada.id] };
    assertProblem(await call('PUT', group(id), left, { 'if-match': '"1"' }), {
      status: 422,
      code: 'approver-group.too-small',
      pointer: '/members',
    });
    expect((await call('GET', group(id))).body).toEqual(before);
    const easier = { ...body, stages: [{ group: id, threshold: 1 }] };
    expect((await call('PUT', `${POLICIES}/${made.id}`, easier, { 'if-match': '"1"' })).status).toBe(200);
    expect((await call('PUT', group(id), left, { 'if-match': '"1"' })).status).toBe(200);
    await call('DELETE', `${POLICIES}/${made.id}`);
  });

  it('unless it existed before, in which case it can still be edited', async () => {
    const body = await draftPolicy({ keys: ['default'] });
    const { body: made } = await call('POST', POLICIES, body);
    const [id] = body.stages.map(({ group: one }) => one);
    await place.stage.change(
      `UPDATE approval_policy SET keys = '{gone}', stages = jsonb_build_array(jsonb_build_object('groupId', $2::text, 'threshold', 5)) WHERE id = $1`,
      [made.id, id],
    );
    const kept = { ...body, name: unique('renamed'), keys: ['gone'], stages: [{ group: id, threshold: 5 }] };
    expect((await call('PUT', `${POLICIES}/${made.id}`, kept, { 'if-match': '"1"' })).status).toBe(200);
    const renamed = { name: unique('group'), members: [ada.id, ben.id] };
    expect((await call('PUT', group(id ?? ''), renamed, { 'if-match': '"1"' })).status).toBe(200);
    await call('DELETE', `${POLICIES}/${made.id}`);
  });
});

describe('an approval policy applies to requests', () => {
  const guarded = async (conditions: object[]) =>
    (await newGuardedKey(place, [{ members: [ada], threshold: 1 }], { conditions })).key.name;

  it('by format and algorithm, and to every signature over a caller-supplied digest, which can be moved into any format', async () => {
    const key = await guarded([
      { fact: 'format', op: 'in', values: ['cms', 'authenticode'] },
      { fact: 'algorithm', op: 'not-in', values: ['sha3-*'] },
    ]);
    for (const format of ['raw', 'sigstore-bundle', 'dsse', 'jws'])
      expect({ format, status: await statusOf(key, { format }) }).toEqual({ format, status: 'PENDING_APPROVAL' });
    const sha3 = { digest: digestOf('x', 'sha3-256'), algorithm: 'sha3-256' };
    expect(await statusOf(key, sha3)).toBe('PENDING_APPROVAL');
    const jws = await guarded([{ fact: 'format', op: 'in', values: ['jws'] }]);
    expect(await statusOf(jws, { format: 'jws' })).toBe('PENDING_APPROVAL');
  });

  it.each(['format', 'scheme', 'algorithm', 'metadata.branch', 'verifed.ref', `verified.${'x'.repeat(100)}`])(
    'with exceptions on verified facts only: %s is rejected',
    async (fact) => {
      const body = { ...(await draftPolicy({ keys: ['default'] })), unless: [{ fact, op: 'in', values: ['raw'] }] };
      assertProblem(await call('POST', POLICIES, body), {
        status: 400,
        code: 'request.invalid',
        pointer: '/unless/0/fact',
      });
    },
  );

  it('with a warning about how callers can evade it, in the policy and in a policy test', async () => {
    const conditions = [{ fact: 'metadata.branch', op: 'in', values: ['main'] }];
    const unless = [{ fact: 'caller', op: 'in', values: ['release-bot'] }];
    const body = { ...(await draftPolicy({ keys: ['default'] })), conditions, unless };
    const warnings = [
      { code: 'metadata-condition', fact: 'metadata.branch', detail: expect.stringContaining('bypasses this policy') },
    ];
    expect((await call('POST', `${POLICIES}/test`, { policy: body })).body).toEqual({ results: [], warnings });
    const { body: made } = await call('POST', POLICIES, body);
    expect(made).toMatchObject({ warnings, coveredKeys: ['default'] });
    expect((await call('GET', `${POLICIES}/${made.id}`)).body.warnings).toEqual(warnings);
    await call('DELETE', `${POLICIES}/${made.id}`);
  });

  it('by metadata, even if the caller omits it', async () => {
    const key = await guarded([{ fact: 'metadata.branch', op: 'in', values: ['main', 'release/*'] }]);
    expect(await statusOf(key, { metadata: { branch: 'release/1.2' } })).toBe('PENDING_APPROVAL');
    expect(await statusOf(key, { metadata: { branch: 'feature/x' } })).toBe('SIGNED');
    expect(await statusOf(key, { metadata: {} })).toBe('PENDING_APPROVAL');
    expect(await statusOf(key, { metadata: { branch: ['feature/x'] } })).toBe('PENDING_APPROVAL');
  });

  it('by caller', async () => {
    const nightly = await newApiKey(place.service, place.apiKey, ['sign:digest']);
    const key = await guarded([{ fact: 'caller', op: 'not-in', values: [nightly.id] }]);
    expect(await statusOf(key, {}, nightly.key)).toBe('SIGNED');
    expect(await statusOf(key)).toBe('PENDING_APPROVAL');
  });

  it('for every key if it covers all keys, and all applicable policies must be satisfied', async () => {
    const { key } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
    const group = (await newGroup(place, [ben])).body;
    const all = { name: unique('all'), keys: ['*'], stages: [{ group: group.id, threshold: 1 }] };
    const { id } = (await call('POST', POLICIES, all)).body;
    const body = { digest: digestOf(randomUUID()), key: key.name };
    const { approvalId } = (await sign(place.service, { key: place.apiKey, body })).body;
    expect(await statusOf('default')).toBe('PENDING_APPROVAL');
    expect((await call('DELETE', `${POLICIES}/${id}`)).status).toBe(204);
    expect(await statusOf('default')).toBe('SIGNED');
    const first = [await vote(place.service, approvalId, ada), await vote(place.service, approvalId, ben)];
    const votes = [...first, await vote(place.service, approvalId, ada)];
    expect(votes.some(({ body: view }) => view.status === 'APPROVED')).toBe(true);
    expect(votes.filter(({ status }) => status === 200)).toHaveLength(2);
  });
});

it('every process applies a new policy immediately, despite its cache', async () => {
  for (let round = 0; round < 2; round += 1) {
    const key = (await createKey(place.service, place.apiKey, { name: unique('late'), type: 'ec-p256' })).name;
    expect(await statusOf(key, {}, place.apiKey, other)).toBe('SIGNED');
    const group = (await newGroup(place, [ada])).body;
    const policy = { name: unique('policy'), keys: [key], stages: [{ group: group.id, threshold: 1 }] };
    const made = await call('POST', POLICIES, policy);
    const after = await Promise.all(
      Array.from({ length: 8 }, (_, i) => statusOf(key, { async: i % 2 === 0 }, place.apiKey, other)),
    );
    expect(new Set(after)).toEqual(new Set(['PENDING_APPROVAL']));
    await call('DELETE', `${POLICIES}/${made.body.id}`);
    expect(await statusOf(key, {}, place.apiKey, other)).toBe('SIGNED');
  }
});
