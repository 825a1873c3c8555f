import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PEERS_HERE } from '../auth/people.js';
import { exchange, newTrust, trustIssuer } from '../auth/workload-calls.js';
import { sealwright } from '../client/program.js';
import { WorkloadIssuer } from '../fakes/workload-issuer.js';
import type { Service } from '../support/service.js';
import { createKey, digestOf, read, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { newApprovers, newGroup, unique } from './approvers.js';
import { CLAIM_POLICIES, type ClaimPolicy, policyBody } from './claim-policies.js';

/** A table row with a separate key, whose policy is created after a request for the key has been queued. */
interface Prepared {
  readonly row: ClaimPolicy;
  readonly key: string;
  readonly policy: object;
  readonly queued: string;
  /** Credential of the row's caller. */
  readonly caller: string;
}

const AUDIENCE = 'https://policies.example';
const issuer = new WorkloadIssuer();
const directory = mkdtempSync(join(tmpdir(), 'sealwright-policies-'));
let stage: Stage;
let api: Service;
let apiKey: string;
let prepared: Prepared[];
/** Access tokens of workloads whose identity tokens differ only in `sub`. */
const runs = new Map<string, string>();

/** Reports whether a signing request for this row requires approval. */
const waits = async ({ row, key, caller }: Prepared) => {
  const { status, body } = await sign(api, { key: caller, body: bodyOf(row, key) });
  expect([200, 202]).toContain(status);
  return body.status === 'PENDING_APPROVAL';
};

const bodyOf = ({ metadata = {} }: ClaimPolicy, key: string) => ({ digest: digestOf(key), key, metadata });

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  api = await stage.start({ role: 'api', settings: PEERS_HERE });
  await issuer.start();
  const place = { service: api, key: apiKey };
  const { id } = await trustIssuer(place, { issuer: issuer.issuer });
  const conditions = [{ claim: 'iss', values: [issuer.issuer] }];
  await newTrust(place, id, { name: 'of every claim', conditions, audience: AUDIENCE });
  const group = await newGroup({ service: api, apiKey }, await newApprovers({ stage, service: api, apiKey }, 1));
  prepared = [];
  // A token exchange requires a growing audit log and therefore a running worker. The worker is stopped before the requests below, which must stay queued.
  const worker = await stage.start({ role: 'worker' });
  const tokenFor = (claims: object) =>
    until('a token', 30, async () => {
      const { status, body } = await exchange(api, await issuer.tokenFor({ ...claims }, AUDIENCE));
      return status === 200 && (body.access_token as string);
    });
  const callers: string[] = [];
  for (const { claims } of CLAIM_POLICIES) callers.push(claims === undefined ? apiKey : await tokenFor(claims));
  const free = CLAIM_POLICIES.find(({ name }) => name === 'a policy without conditions');
  for (const sub of ['job one', 'job two']) runs.set(sub, await tokenFor({ ...free?.claims, sub }));
  await worker.kill();
  for (const [i, row] of CLAIM_POLICIES.entries()) {
    const { name: key } = await createKey(api, apiKey, { name: unique('row'), type: 'ec-p256' });
    const caller = callers[i] ?? '';
    const { body } = await sign(api, { key: caller, body: { ...bodyOf(row, key), async: true } });
    const stages = [{ group: group.body.id as string, threshold: 1 }];
    const policy = { name: unique('policy'), keys: [key], stages, ...policyBody(row) };
    prepared.push({ row, key, policy, queued: body.requestId, caller });
  }
  for (const { policy } of prepared) {
    const { status, body } = await api.call('POST', '/api/v1/approval-policies', { key: apiKey, body: policy });
    expect(body.code).toBeUndefined();
    expect(status).toBe(201);
  }
}, 180_000);
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await issuer.stop();
  await stage.close();
});

it('runs of one workload share the limit of pending approvals of one caller', async () => {
  const few = await stage.start({ role: 'api', settings: { ...PEERS_HERE, SVC_APPROVALS_OPEN_PER_CALLER: '1' } });
  const { key = '' } = prepared.find((one) => one.row.name === 'a policy without conditions') ?? {};
  const ask = (sub: string) => sign(few, { key: runs.get(sub) ?? '', body: { digest: digestOf(unique('run')), key } });
  expect((await ask('job one')).status).toBe(202);
  expect((await ask('job one')).body.code).toBe('approval.too-many-open');
  expect((await ask('job two')).status).toBe(202);
});

const expected = () => prepared.map(({ row }) => [row.name, row.needsApproval]);
const outcomes = (needs: readonly boolean[]) => prepared.map(({ row }, i) => [row.name, needs[i]]);

it('the table has at least thirty rows of claims and policies', () => {
  expect(CLAIM_POLICIES.length).toBeGreaterThanOrEqual(30);
});

it('testing all policies through the API returns the table results', async () => {
  const uses = prepared.map(({ row, key }) => ({
    key,
    metadata: row.metadata,
    ...(row.claims === undefined ? {} : { claims: row.claims, trust: 'of every claim' }),
  }));
  const { status, body } = await api.call('POST', '/api/v1/approval-policies/test', { key: apiKey, body: { uses } });
  expect(status).toBe(200);
  expect(outcomes(body.results.map(({ needsApproval }: { needsApproval: boolean }) => needsApproval))).toEqual(
    expected(),
  );
});

it('testing past requests returns the table results', async () => {
  const requestIds = prepared.map(({ queued }) => queued);
  const { body } = await api.call('POST', '/api/v1/approval-policies/test', { key: apiKey, body: { requestIds } });
  expect(outcomes(body.results.map(({ needsApproval }: { needsApproval: boolean }) => needsApproval))).toEqual(
    expected(),
  );
});

it('"sealwright policy test" returns the table results for each draft policy', async () => {
  const keep = (name: string, value: object) => {
    writeFileSync(join(directory, name), JSON.stringify(value));
    return join(directory, name);
  };
  const env = { SEALWRIGHT_URL: api.url, SEALWRIGHT_TOKEN: apiKey };
  const needs: boolean[] = [];
  for (const { row, key, policy } of prepared.filter(
    ({ row: { conditions = [], unless = [] } }) => ![...conditions, ...unless].some(([fact]) => fact === 'trust'),
  )) {
    const claims = row.claims === undefined ? [] : ['--claims', keep('claims.json', row.claims)];
    const metadata = row.metadata === undefined ? [] : ['--metadata', keep('metadata.json', row.metadata)];
    const args = ['policy', 'test', '--policy', keep('policy.json', policy), '--key', key, ...claims, ...metadata];
    const { out, err } = await sealwright([...args, '-o', 'json'], { env });
    expect(err).toBe('');
    const [result] = JSON.parse(out) as { needsApproval: boolean }[];
    needs.push(result?.needsApproval ?? false);
  }
  expect(needs).toEqual(
    expected()
      .slice(0, needs.length)
      .map(([, needed]) => needed),
  );
  const { out } = await sealwright(['policy', 'test', '--request', prepared[8]?.queued ?? ''], { env });
  expect(out).toMatch(
    /requires no approval\n {2}does not apply: policy-\w+\n {4}unless verified\.repository in octo-org\/octo-repo: holds/,
  );
}, 180_000);

it('API calls return the table results', async () => {
  const needs: boolean[] = [];
  for (const one of prepared) needs.push(await waits(one));
  expect(outcomes(needs)).toEqual(expected());
}, 60_000);

it('claiming requests queued before the policies existed returns the table results', async () => {
  await stage.start({ role: 'worker' });
  const needs: boolean[] = [];
  for (const { queued } of prepared) {
    const { body } = await read(api, apiKey, queued, 30);
    expect(['SIGNED', 'FAILED']).toContain(body.status);
    needs.push(body.failure?.code === 'approval.needed');
  }
  expect(outcomes(needs)).toEqual(expected());
}, 120_000);

it('no claim of anybody frees a run from a policy while several issuers are enabled', async () => {
  const other = new WorkloadIssuer();
  await other.start();
  await trustIssuer({ service: api, key: apiKey }, { issuer: other.issuer });
  const rowOf = (name: string) => prepared.find(({ row }) => row.name === name) as Prepared;
  const hosted = rowOf('all but hosted runners: hosted');
  await expect.poll(() => waits(hosted), { timeout: 20_000 }).toBe(true);
  expect(await waits(rowOf('self-hosted runners: on another'))).toBe(false);
  await other.stop();
});

it('an issuer whose row is hidden from the database for a moment still counts', async () => {
  const issuers = await stage.sql<{ id: string }>('SELECT id FROM workload_issuer WHERE enabled ORDER BY id');
  expect(issuers).toHaveLength(2);
  const hosted = prepared.find(({ row }) => row.name === 'all but hosted runners: hosted') as Prepared;
  await stage.sql(`CREATE TABLE hidden_issuer AS SELECT * FROM workload_issuer WHERE id = $1`, [issuers[1]?.id]);
  await stage.sql('DELETE FROM workload_issuer WHERE id = $1', [issuers[1]?.id]);
  // Policies that were read before the row was hidden remain valid for up to five seconds.
  for (const end = Date.now() + 8000; Date.now() < end; await sleep(1000)) expect(await waits(hosted)).toBe(true);
  await stage.sql('INSERT INTO workload_issuer SELECT * FROM hidden_issuer');
});
