import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

const RULE = 'Q-RSA-SIG-112';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  await call('POST', '/api/ingest', bom([signature('RSA-2048'), algorithm({ name: 'AES-256-GCM' })], about('shop')));
});
afterAll(() => stage.close());

const signature = (name: string) => algorithm({ name, properties: { primitive: 'signature' } });
const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  service.call(method, path, { key: apiKey, headers, ...(body === undefined ? {} : { body }) });
async function ruleNow(): Promise<{ version: number; rule: Record<string, unknown> }> {
  const { body } = await call('GET', '/api/quantum-risk/rules');
  const { id: _id, target, ...rule } = body.items.find(({ id }: { id: string }) => id === RULE);
  return { version: body.version, rule: { ...rule, ...(target === null ? {} : { target }) } };
}
async function levelOf(name: string): Promise<string> {
  return (await call('GET', `/api/assets?name=${name}`)).body.items[0].level;
}
const judged = (version: number): Promise<Answer['body']> =>
  until('the end of judging anew', 45, async () => {
    const { body } = await call('GET', `/api/quantum-risk/reclassifications/${version}`);
    return body.status === 'DONE' && body;
  });
const tally = () =>
  stage.sql(
    `SELECT dimension, value, level, sum(count)::int AS count FROM inventory_tally GROUP BY 1, 2, 3 HAVING sum(count) <> 0 ORDER BY 1, 2, 3`,
  );

/** Returns the same counts as `tally`, computed from the assets. */
const counted = () =>
  stage.sql(
    `SELECT d.dimension, d.value, coalesce(a.level, -1) AS level, count(*)::int AS count FROM judged_asset a, LATERAL (
       VALUES ('kind', a.kind), ('state', a.state), ('owner', coalesce(a.owner, '')), ('quantum', a.quantum), ('family', coalesce(a.family, '')),
         ('size', a.family || ' ' || a.bits), ('deadline', a.deadline::text), ('expiry', to_char(a.not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD')),
         ('verdict', CASE WHEN a.state = 'active' THEN a.verdict_id::text END)
     ) d (dimension, value) WHERE d.value IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  );

describe('a rule change', () => {
  it('can be tried without effect', async () => {
    const { rule, version } = await ruleNow();
    const before = await tally();
    const { status, body } = await call('POST', '/api/quantum-risk/rules/test', {
      id: RULE,
      rule: { ...rule, level: 'CRITICAL' },
    });
    expect({ status, ...body }).toMatchObject({
      status: 200,
      changedAssets: 1,
      before: { MEDIUM: 1 },
      after: { CRITICAL: 1 },
    });
    expect(await tally()).toEqual(before);
    expect((await ruleNow()).version).toBe(version);
  });

  it('creates a version, and reclassifies everything: assets, counts, and later documents', async () => {
    const { rule, version } = await ruleNow();
    const put = await call(
      'PUT',
      `/api/quantum-risk/rules/${RULE}`,
      { ...rule, level: 'CRITICAL' },
      { 'if-match': `"${version}"` },
    );
    expect({ ...put.body, status: put.status }).toMatchObject({ status: 202, version: version + 1, changedRule: RULE });
    expect(await judged(version + 1)).toMatchObject({ changedAssets: 1 });
    expect(await levelOf('RSA-2048')).toBe('CRITICAL');
    await call('POST', '/api/ingest', bom([signature('RSA-2048-PSS')], about('later')));
    expect(await levelOf('RSA-2048-PSS')).toBe('CRITICAL');
    expect(await tally()).toEqual(await counted());
  });

  it('leaves no asset counted under an outdated verdict, even with concurrent ingestion', async () => {
    const { rule, version } = await ruleNow();
    const about2048 = (source: number) =>
      Array.from({ length: 50 }, (_, key) => {
        const id = `a key of source ${source} with the number ${key}`;
        return material(id, { type: 'public-key', id, algorithmRef: 'RSA-2048' });
      });
    const documents = Array.from({ length: 16 }, (_, source) =>
      call('POST', '/api/ingest', bom([signature('RSA-2048'), ...about2048(source)], about(`source ${source}`))),
    );
    for (const [step, level] of ['HIGH', 'LOW', 'CRITICAL'].entries()) {
      const headers = { 'if-match': `"${version + step}"` };
      expect((await call('PUT', `/api/quantum-risk/rules/${RULE}`, { ...rule, level }, headers)).status).toBe(202);
    }
    for (const { status } of await Promise.all(documents)) expect(status).toBe(200);
    await judged(version + 3);
    expect(await levelOf('a key of source 9')).toBe('CRITICAL');
    expect(await tally()).toEqual(await counted());
  });

  it('that is reverted restores the verdicts and the counts', async () => {
    const { rule, version } = await ruleNow();
    await call('PUT', `/api/quantum-risk/rules/${RULE}`, { ...rule, level: 'MEDIUM' }, { 'if-match': `"${version}"` });
    await judged(version + 1);
    expect(await levelOf('RSA-2048')).toBe('MEDIUM');
    const [entry] = await stage.sql<{ detail: { before: { level: string }; after: { level: string } } }>(
      `SELECT detail FROM audit_entry WHERE action = 'inventory.rule-changed' ORDER BY id DESC LIMIT 1`,
    );
    expect([entry?.detail.before.level, entry?.detail.after.level]).toEqual(['CRITICAL', 'MEDIUM']);
  });

  it.each<[what: string, change: object, status: number]>([
    ['an unknown condition', { match: { colour: ['red'] } }, 400],
    ['no condition', { match: {} }, 400],
    ['a pattern of its own', { match: { suite: '(a+)+$' } }, 400],
    ['an unknown level', { level: 'WORST' }, 400],
  ])('with %s is rejected', async (_, change, status) => {
    const { rule, version } = await ruleNow();
    const answer = await call(
      'PUT',
      `/api/quantum-risk/rules/${RULE}`,
      { ...rule, ...change },
      { 'if-match': `"${version}"` },
    );
    expect({ status: answer.status, version: (await ruleNow()).version }).toEqual({ status, version });
  });

  it('requires the current version and the scope', async () => {
    const { rule } = await ruleNow();
    const path = `/api/quantum-risk/rules/${RULE}`;
    expect((await call('PUT', path, rule)).status).toBe(428);
    expect((await call('PUT', path, rule, { 'if-match': '"99"' })).status).toBe(412);
    const { key } = await newApiKey(service, apiKey, ['inventory:read']);
    expect((await service.call('DELETE', path, { key, headers: { 'if-match': '"0"' } })).status).toBe(403);
    expect((await call('POST', '/api/quantum-risk/rules/test', { id: 'NO-SUCH-RULE' })).body.code).toBe('rule.missing');
  });
});

describe('a release with other rules', () => {
  it('reclassifies everything at startup', async () => {
    const { version, rule } = await ruleNow();
    await call(
      'PUT',
      `/api/quantum-risk/rules/${RULE}`,
      { ...rule, level: 'CRITICAL' },
      { 'if-match': `"${version}"` },
    );
    await judged(version + 1);
    expect(await levelOf('RSA-2048')).toBe('CRITICAL');
    // Without stored rules, the service applies the default rules and treats the existing verdicts as verdicts of an older release.
    await stage.sql('DELETE FROM risk_rule_set');
    await service.kill();
    service = await stage.start({ role: 'api' });
    await until('the verdict of this release', 30, async () => (await levelOf('RSA-2048')) === 'MEDIUM');
    // Other assets are still being reclassified, so a commit may occur between the two reads.
    await until('counts of what there is', 30, async () => isDeepStrictEqual(await tally(), await counted()));
  });
});
