import { createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SEQUENCER_LOCK } from '../../src/audit/log/log-tiles.js';
import { isConsistent, rootOfInclusion } from '../../src/verifier/merkle-proof.js';
import { openNote } from '../../src/verifier/signed-note.js';
import { sealwright } from '../client/program.js';
import { newApiKey } from '../support/access.js';
import type { Service } from '../support/service.js';
import { accepted } from '../support/accepted-log.js';
import { createKey, digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let publicKey: Buffer;
const directory = mkdtempSync(join(tmpdir(), 'sealwright-log-'));

const at = (name: string) => join(directory, name);
const get = (path: string, key = apiKey) => service.call('GET', `/api/v1/audit/log/${path}`, { key });
const bytes = (text: string) => Buffer.from(text, 'base64');
const countOf = async (table: string) =>
  Number((await stage.sql<{ n: string }>(`SELECT count(*) AS n FROM ${table}`))[0]?.n);

/** Waits until a signed checkpoint covers every entry. */
async function settled(): Promise<void> {
  await until('a checkpoint over all', 45, async () => {
    const [row] = await stage.sql<{ open: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM log_waiting) OR (SELECT size FROM log_head) <> coalesce((SELECT max(size) FROM log_checkpoint), 0) AS open`,
    );
    return row?.open === false;
  });
}

interface Verdict {
  readonly valid: boolean;
  readonly size: number;
  readonly firstWrong?: number;
  readonly findings: readonly { readonly index?: number; readonly detail: string }[];
}

/** Runs `sealwright log verify` as an auditor who has kept the log's key. */
async function verified(...args: string[]): Promise<Verdict & { code: number }> {
  const env = { SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: apiKey };
  const { code, out, err } = await sealwright(['log', 'verify', '--key', at('log.pem'), '-o', 'json', ...args], {
    env,
  });
  if (out === '') throw new Error(err);
  return { code, ...(JSON.parse(out) as Verdict) };
}

/** Creates many entries with a single call. */
async function signed(count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, i) => ({ digest: digestOf(`file ${i} of ${count}`) }));
  const { status } = await service.call('POST', '/api/v1/sign/batch', { key: apiKey, body: { items } });
  expect(status).toBe(200);
}

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  await stage.start({ role: 'worker' });
  // Waits for a checkpoint over far fewer entries than the later checkpoints. Tests roll the log back to this checkpoint.
  await settled();
  await signed(400);
  await settled();
  const { body } = await get('key');
  writeFileSync(at('log.pem'), body.publicKey as string);
  publicKey = createPublicKey(body.publicKey).export({ type: 'spki', format: 'der' });
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await stage.close();
});

describe('the audit log', () => {
  it('numbers every entry once, by whichever process', async () => {
    expect(await countOf('log_leaf')).toBe(await countOf('audit_entry'));
    const [gaps] = await stage.sql(
      `SELECT count(*) - 1 - max(index) AS missing, count(DISTINCT entry_id) = count(*) AS once FROM log_leaf`,
    );
    expect(gaps).toEqual({ missing: '0', once: true });
  });

  it('includes an entry under the signed root, but not a modified entry', async () => {
    const { body: list } = await service.call('GET', '/api/v1/audit/entries?limit=200', { key: apiKey });
    for (const { id } of list.items.slice(0, 20)) {
      const { status, body } = await get(`inclusion?entry=${id}`);
      expect(status).toBe(200);
      const checkpoint = openNote(body.checkpoint, publicKey);
      const path = body.path.map(bytes);
      const root = rootOfInclusion({ index: body.index, size: body.size, leaf: bytes(body.hash), path });
      expect(root).toEqual(checkpoint?.root);
      expect(checkpoint?.size).toBe(body.size);
      expect(JSON.parse(bytes(body.data).toString()).id).toBe(id);
    }
  });

  it('shows that a later log continues an earlier one', async () => {
    const { body: before } = await get('checkpoint');
    await sign(service, { key: apiKey, body: { digest: digestOf('one more') } });
    await settled();
    const { body: after } = await get('checkpoint');
    const { body: proof } = await get(`consistency?first=${before.size}&second=${after.size}`);
    const claim = {
      first: before.size,
      firstRoot: bytes(before.root),
      second: after.size,
      secondRoot: bytes(after.root),
    };
    expect(after.size).toBeGreaterThan(before.size);
    expect(isConsistent({ ...claim, path: proof.path.map(bytes) })).toBe(true);
    expect(isConsistent({ ...claim, firstRoot: bytes(after.root), path: proof.path.map(bytes) })).toBe(false);
  });

  it('accepts a checkpoint with the log key only', async () => {
    const { body } = await get('checkpoint');
    const other = await createKey(service, apiKey, { name: 'other', type: 'ec-p256' });
    expect(openNote(body.note, publicKey)).toBeDefined();
    expect(
      openNote(body.note, createPublicKey(other.publicKey).export({ type: 'spki', format: 'der' })),
    ).toBeUndefined();
    expect(openNote(body.note.replace(/\d+/, '1'), publicKey)).toBeUndefined();
  });

  it('is not readable without the scope', async () => {
    const { key } = await newApiKey(service, apiKey, ['sign:digest']);
    for (const path of ['key', 'checkpoint', 'export']) expect((await get(path, key)).status).toBe(403);
  });

  it('reports missing entries and invalid sizes', async () => {
    expect((await get('inclusion?entry=01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11')).body.code).toBe('audit-entry.unknown');
    expect((await get('consistency?first=999999')).body.code).toBe('log.size');
    expect((await get('checkpoint?size=999999')).body.code).toBe('log.no-checkpoint');
  });
});

describe('the verifier names the index of SQL changes', () => {
  const placed = (index: number) =>
    stage
      .sql<{ id: string }>(`SELECT entry_id AS id FROM log_leaf WHERE index = $1`, [index])
      .then(([row]) => row?.id ?? '');

  it('and nothing while nothing is changed', async () => {
    await settled();
    // The log protects against the table owner, who can disable triggers.
    await stage.sql(`ALTER TABLE audit_entry DISABLE TRIGGER ALL`);
    expect(await verified('--state', at('state'))).toMatchObject({ code: 0, valid: true, findings: [] });
    expect(JSON.parse(readFileSync(at('state'), 'utf8')).checkpoint).toBe((await get('checkpoint')).body.note);
    expect(await verified('--state', at('state'), '--quick')).toMatchObject({ code: 0, valid: true });
  });

  it('for export lines that were changed, removed or moved', async () => {
    const response = await fetch(`${service.url}/api/v1/audit/log/export`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const [head = '', ...leaves] = (await response.text()).trimEnd().split('\n');
    const found = async (lines: string[]) => {
      writeFileSync(at('log.ndjson'), `${lines.join('\n')}\n`);
      const { code, firstWrong } = await verified(at('log.ndjson'));
      return [code, firstWrong];
    };
    const changed = leaves.with(70, (leaves[70] ?? '').replace('"done"', '"DONE"'));
    expect(await found([head, ...leaves])).toEqual([0, undefined]);
    expect(await found([head, ...changed])).toEqual([1, 70]);
    expect(await found([head, ...leaves.toSpliced(80, 1)])).toEqual([1, 80]);
    expect(await found([head, ...leaves.with(90, leaves[95] ?? '').with(95, leaves[90] ?? '')])).toEqual([1, 90]);
    expect(await found([head, ...leaves.with(99, '{"index":')])).toEqual([1, 99]);
    expect(await found([head, ...leaves.slice(0, -1)])).toEqual([1, undefined]);
    const other = await createKey(service, apiKey, { name: 'not-the-log', type: 'ec-p256' });
    writeFileSync(at('other.pem'), other.publicKey);
    const unsigned = await sealwright(['log', 'verify', at('log.ndjson'), '--key', at('other.pem')]);
    expect(unsigned).toMatchObject({ code: 1, out: expect.stringContaining('not signed with the log key') });
  });

  it('for an edited entry', async () => {
    const id = await placed(300);
    const [{ name } = { name: '' }] = await stage.sql<{ name: string }>(
      `SELECT actor_name AS name FROM audit_entry WHERE id = $1`,
      [id],
    );
    await stage.sql(`UPDATE audit_entry SET actor_name = 'somebody else' WHERE id = $1`, [id]);
    const findings = [{ index: 300, detail: `its entry ${id} differs from the logged entry` }];
    expect(await verified()).toMatchObject({ code: 1, valid: false, firstWrong: 300, findings });
    const { out } = await sealwright(['log', 'verify', service.url, '--key', at('log.pem')], {
      env: { SEALWRIGHT_TOKEN: apiKey },
    });
    expect(out).toMatch(/^BAD 300: its entry .*\nNOT VALID: the first invalid entry is number 300\n$/);
    await stage.sql(`UPDATE audit_entry SET actor_name = $2 WHERE id = $1`, [id, name]);
  });

  it('for reordered entries', async () => {
    const [first, second] = [await placed(10), await placed(600)];
    const swap = (a: string, b: string) =>
      stage.sql(
        `UPDATE log_leaf SET entry_id = CASE index WHEN 10 THEN $1::uuid ELSE $2::uuid END WHERE index IN (10, 600)`,
        [a, b],
      );
    await swap(second, first);
    expect((await verified()).findings.map(({ index }) => index)).toEqual([10, 600]);
    await swap(first, second);
  });

  it('for an edited entry with a corrected hash, because the root differs', async () => {
    await stage.sql(
      `UPDATE log_tile SET hashes = set_byte(hashes, 99, 255 - get_byte(hashes, 99)) WHERE level = 0 AND index = 1`,
    );
    const { findings } = await verified();
    expect(findings.map(({ detail }) => detail)).toContain('the leaves do not match the root of the checkpoint');
    expect(findings[0]?.index).toBe(256 + 3);
    expect(await verified('--state', at('state'))).toMatchObject({ code: 1 });
  });

  it('for a deleted entry', async () => {
    const id = await placed(150);
    await stage.sql(`DELETE FROM audit_entry WHERE id = $1`, [id]);
    expect((await verified()).findings).toContainEqual({ index: 150, detail: `its entry ${id} is missing` });
  });

  it('for a rollback including the signed checkpoint, given a checkpoint kept outside', async () => {
    const kept = JSON.parse(readFileSync(at('state'), 'utf8')).checkpoint.split('\n')[1];
    const [early] = await stage.sql<{ size: string }>(`SELECT size FROM log_checkpoint ORDER BY size LIMIT 1`);
    await rollBackTo(Number(early?.size));
    expect(await verified()).toMatchObject({ code: 0 });
    const { findings } = await verified('--state', at('state'));
    expect(findings).toEqual([{ detail: `the older checkpoint covers ${kept} leaves: the log was rolled back` }]);
    const quick = await verified('--state', at('state'), '--quick');
    expect(quick).toMatchObject({ code: 1, findings: [{ detail: expect.stringContaining('rolled back') }] });
  });

  it('for a log that diverged since, even if an operator accepted it', async () => {
    await until('the service to hold the log', 30, async () => service.log().includes('log.rolled-back'));
    await accepted(stage.settings);
    // Each process reads the acceptance independently.
    const signsAgain = async () =>
      (await sign(service, { key: apiKey, body: { digest: digestOf('again') } })).status === 200;
    await until('the service to sign again', 30, signsAgain);
    await signed(500);
    await settled();
    expect(await verified()).toMatchObject({ code: 0 });
    const { code, findings } = await verified('--state', at('state'));
    expect([code, findings[0]?.detail]).toEqual([
      1,
      expect.stringMatching(/^the first \d+ leaves differ from the leaves of/),
    ]);
    const quick = await verified('--state', at('state'), '--quick');
    expect(quick).toMatchObject({ code: 1, findings: [{ detail: expect.stringContaining('it was forked') }] });
  });

  it('and no checkpoint is signed for a log shorter than its last checkpoint', async () => {
    await sign(service, { key: apiKey, body: { digest: digestOf('after the rollback') } });
    await settled();
    const { body: last } = await get('checkpoint');
    const refusals = () => service.log().split(/log\.(?:rolled-back|forked)/).length;
    const before = refusals();
    // If a new entry takes the index of the removed entry, the log is reported as forked instead of rolled back.
    await stage.sql(
      `SELECT pg_advisory_xact_lock(${SEQUENCER_LOCK});
       UPDATE log_head SET size = size - 1;
       DELETE FROM log_leaf WHERE index = (SELECT max(index) FROM log_leaf)`,
    );
    await until('a refusal to sign', 30, async () => refusals() > before);
    expect((await get('checkpoint')).body.size).toBe(last.size);
  });

  /** Rolls the log back in a single statement under the sequencer lock. Otherwise, the service could sign an intermediate state. */
  async function rollBackTo(size: number): Promise<void> {
    const tile = Math.floor(size / 256);
    await stage.sql(
      `SELECT pg_advisory_xact_lock(${SEQUENCER_LOCK});
       DELETE FROM log_checkpoint WHERE size > ${size};
       DELETE FROM log_leaf WHERE index >= ${size};
       DELETE FROM log_waiting;
       DELETE FROM audit_entry e WHERE NOT EXISTS (SELECT FROM log_leaf l WHERE l.entry_id = e.id);
       UPDATE log_head SET size = ${size};
       DELETE FROM log_tile WHERE level > 0 OR index > ${tile};
       UPDATE log_tile SET hashes = substr(hashes, 1, 32 * ${size % 256}) WHERE index = ${tile}`,
    );
  }
});
