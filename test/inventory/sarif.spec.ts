import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { algorithm, bom } from './documents.js';

const SARIF = { 'content-type': 'application/sarif+json' };

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const send = (log: unknown, query = ''): Promise<Answer> =>
  service.call('POST', `/api/v1/import/source-scan${query}`, { key: apiKey, headers: SARIF, body: log });

interface Run {
  readonly tool?: string;
  readonly finds: readonly string[];
  readonly category?: string;
  readonly repository?: string;
  readonly more?: object;
}

function run({ tool = 'scan', finds, category, repository, more = {} }: Run): object {
  const rules = [{ id: 'R1', name: 'x', properties: { tags: ['external/cwe/cwe-327'] } }];
  const results = finds.map((name) => ({
    ruleId: 'R1',
    message: { text: `${name} is used` },
    locations: [{ physicalLocation: { artifactLocation: { uri: `${name}.c` }, region: { startLine: 1 } } }],
  }));
  return {
    tool: { driver: { name: tool, rules } },
    results,
    ...(category === undefined ? {} : { automationDetails: { id: category } }),
    ...(repository === undefined ? {} : { versionControlProvenance: [{ repositoryUri: repository }] }),
    ...more,
  };
}
const log = (...runs: Run[]) => ({ version: '2.1.0', runs: runs.map(run) });

/** Returns the value of `missed` for each occurrence of a source, by algorithm and context. */
async function missed(source: string): Promise<Record<string, number>> {
  const rows = await stage.sql<{ place: string; missed: number }>(
    `SELECT a.name || ' ' || coalesce(o.context, '') AS place, o.missed FROM asset_occurrence o
     JOIN asset a ON a.id = o.asset_id JOIN inventory_source s ON s.id = o.source_id WHERE s.name = $1`,
    [source],
  );
  return Object.fromEntries(rows.map(({ place, missed: count }) => [place, count]));
}

describe('findings of one tool in a repository', () => {
  it('are not resolved by another tool, another category or a full document', async () => {
    const repository = 'https://git.example/shop';
    await send(log({ tool: 'a', finds: ['MD4', 'MD5'], repository }));
    await send(log({ tool: 'b', finds: ['RC2'], repository }));
    await send(
      bom([algorithm({ name: 'AES-128', at: 'k.c' })], {
        metadata: { properties: [{ name: 'gitUrl', value: repository }] },
      }),
    );
    expect(await missed(repository)).toEqual({ 'MD4 a: R1': 0, 'MD5 a: R1': 0, 'RC2 b: R1': 0, 'AES-128 ': 0 });
    await send(log({ tool: 'a', finds: ['MD5'], repository }));
    expect(await missed(repository)).toEqual({ 'MD4 a: R1': 1, 'MD5 a: R1': 0, 'RC2 b: R1': 0, 'AES-128 ': 0 });
    await send(bom([], { metadata: { properties: [{ name: 'gitUrl', value: repository }] } }));
    expect(await missed(repository)).toEqual({ 'MD4 a: R1': 1, 'MD5 a: R1': 0, 'RC2 b: R1': 0, 'AES-128 ': 1 });
    await send(log({ tool: 'b', finds: [], repository }));
    expect(await missed(repository)).toEqual({ 'MD4 a: R1': 1, 'MD5 a: R1': 0, 'RC2 b: R1': 1, 'AES-128 ': 1 });
  });

  it('are compared with the tools of a document in linear time', async () => {
    const about = { repository: 'https://git.example/tools', finds: [] };
    const tools = Array.from({ length: 2500 }, (_, i) => ({ ...about, tool: `tool ${i}` }));
    await send(log(...tools, { tool: 'last', finds: ['MD5'], repository: about.repository }));
    // Simulates a tool that reported 25,000 occurrences.
    await stage.sql(
      `INSERT INTO asset_occurrence (asset_id, source_id, id, location, context)
       SELECT o.asset_id, o.source_id, gen_random_uuid(), 'a' || n, o.context || n FROM asset_occurrence o, generate_series(1, 25000) n
       WHERE o.source_id = (SELECT id FROM inventory_source WHERE name = $1)`,
      [about.repository],
    );
    const start = performance.now();
    const { status } = await send(log(...tools, { tool: 'another', finds: ['MD4'], repository: about.repository }));
    expect(status).toBe(200);
    expect(performance.now() - start).toBeLessThan(6000);
    expect((await missed(about.repository))['MD5 last: R1']).toBe(0);
  });

  it('are separated by category when one tool runs twice in one log, in either order', async () => {
    const both = (first: string, second: string) =>
      log({ finds: ['DES'], category: first }, { finds: ['RC4'], category: second });
    const { body } = await send(both('java/', 'go/'));
    expect(body).toMatchObject({ received: 2, source: 'java/' });
    await send(log({ finds: ['RC4'], category: 'go/7' }, { finds: [], category: 'java/8' }));
    expect([await missed('java/'), await missed('go/')]).toEqual([{ 'DES scan: R1': 1 }, { 'RC4 scan: R1': 0 }]);
    await send(both('java/', 'go/'), '?source=mine');
    await send(log({ finds: [], category: 'java/' }), '?source=mine');
    expect(await missed('mine')).toEqual({ 'DES scan (java/): R1': 1, 'RC4 scan (go/): R1': 0 });
  });

  it('remain when a later run failed or has no results', async () => {
    const source = '?source=unlucky';
    await send(log({ finds: ['DES'] }), source);
    const failed = await send(log({ finds: [], more: { invocations: [{ executionSuccessful: false }] } }), source);
    expect(failed.body.warnings).toMatchObject([{ pointer: '/runs/0', code: 'sarif.incomplete' }]);
    await send(log({ finds: [], more: { results: undefined } }), source);
    expect(await missed('unlucky')).toEqual({ 'DES scan: R1': 0 });
  });

  it('stored by the previous version without categories are resolved by the first run of the tool', async () => {
    const source = '?source=before';
    await send(log({ finds: ['DES', 'MD2'] }), source);
    await stage.sql(`UPDATE inventory_source SET tool_contexts = NULL WHERE name = 'before'`);
    await send(log({ finds: ['MD2'], category: 'go/' }), source);
    expect(await missed('before')).toEqual({ 'DES scan: R1': 1, 'MD2 scan: R1': 1, 'MD2 scan (go/): R1': 0 });
    await send(log({ finds: ['DES'] }), source);
    await send(log({ finds: ['MD2'], category: 'go/' }), source);
    expect(await missed('before')).toMatchObject({ 'DES scan: R1': 0 });
  });
});

describe('the encoding of a SARIF log', () => {
  it('may include a byte order mark; UTF-16 is reported', async () => {
    const text = JSON.stringify(log({ finds: ['MD5'] }));
    expect((await send(`\uFEFF${text}`)).body).toMatchObject({ received: 1 });
    for (const bytes of [
      Buffer.from(`\uFEFF${text}`, 'utf16le'),
      Buffer.from(text, 'utf16le'),
      Buffer.from(text, 'utf16le').swap16(),
    ])
      for (const headers of [SARIF, { 'content-type': 'application/octet-stream' }]) {
        const { body } = await service.call('POST', '/api/ingest', { key: apiKey, headers, body: bytes });
        expect(body).toMatchObject({ status: 400, detail: expect.stringContaining('UTF-16') });
      }
  });
});
