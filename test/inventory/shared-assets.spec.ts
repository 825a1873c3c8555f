import { execFileSync } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const send = (key: string, source: string, body: object): Promise<Answer> =>
  service.call('POST', `/api/ingest?source=${encodeURIComponent(source)}`, { key, body });
const reporter = async (...more: string[]) => (await newApiKey(service, apiKey, ['inventory:report', ...more])).key;

describe('a certificate reported by several sources', () => {
  const [SAFE, BROKEN] = ['ML-DSA-87', 'RSA-1024'];
  const [SOON, LATE] = ['2037-01-01T00:00:00Z', '2099-01-01T00:00:00Z'];
  /** Builds a document with a certificate that has this fingerprint and whose key and signature use this algorithm. */
  const claimed = (sha256: string, name: string, end = SOON) =>
    bom(
      [
        {
          type: 'cryptographic-asset',
          name: 'CN=pay.example.com',
          hashes: [{ alg: 'SHA-256', content: sha256 }],
          cryptoProperties: {
            assetType: 'certificate',
            certificateProperties: { notValidAfter: end, signatureAlgorithmRef: name },
          },
        },
        { ...algorithm({ name }), 'bom-ref': name },
      ],
      about('claims'),
    );
  const stateOf = async (sha256: string) => {
    const [row] = await stage.sql<{ level: number; end: Date }>(
      `SELECT level, not_after AS end FROM judged_asset WHERE kind = 'certificate' AND component::text LIKE $1`,
      [`%${sha256}%`],
    );
    return [row?.level, row?.end.toISOString().slice(0, 4)];
  };
  const fingerprint = () => randomBytes(32).toString('hex');

  it('is described by its first source: others improve neither verdict nor expiry', async () => {
    const [first, other, sha256] = [await reporter(), await reporter('inventory:read'), fingerprint()];
    await send(first, `first ${sha256}`, claimed(sha256, BROKEN));
    const before = await stateOf(sha256);
    for (const [name, end] of [
      [SAFE, SOON],
      [SAFE, LATE],
      [BROKEN, LATE],
    ] as const) {
      const { status, body } = await send(other, `other ${sha256}`, claimed(sha256, name, end));
      expect({ status, warnings: body.warnings }).toMatchObject({
        status: 200,
        warnings: [{ code: 'asset.described-by-another' }],
      });
      expect(await stateOf(sha256)).toEqual(before);
    }
    await send(first, `first ${sha256}`, claimed(sha256, SAFE, LATE));
    expect(await stateOf(sha256)).toEqual([0, '2099']);
  });

  it('is described by the source with the worse data, until that source no longer reports it', async () => {
    const [first, other, sha256] = [await reporter(), await reporter(), fingerprint()];
    await send(first, `first ${sha256}`, claimed(sha256, SAFE, LATE));
    await send(other, `other ${sha256}`, claimed(sha256, BROKEN));
    const worse = await stateOf(sha256);
    expect(worse).not.toEqual([0, '2099']);
    await send(first, `first ${sha256}`, claimed(sha256, SAFE, '2098-01-01T00:00:00Z'));
    expect(await stateOf(sha256)).toEqual(worse);
    await send(other, `other ${sha256}`, claimed(fingerprint(), BROKEN));
    await send(first, `first ${sha256}`, claimed(sha256, SAFE, LATE));
    expect(await stateOf(sha256)).toEqual([0, '2099']);
  });

  it('is counted alike for a reporter who may not read, whether or not others report it', async () => {
    const [first, other] = [await reporter(), await reporter()];
    const [known, unknown] = [fingerprint(), fingerprint()];
    await send(first, `first ${known}`, claimed(known, BROKEN));
    const answers = [];
    for (const sha256 of [known, unknown])
      for (const [source, end] of [
        ['new', SOON],
        ['new', LATE],
        ['known', SOON],
      ] as const) {
        const { body } = await send(other, `${source} of ${sha256 === known ? 'a' : 'b'}`, claimed(sha256, SAFE, end));
        const { created, updated, unchanged, warnings } = body;
        answers.push({ created, updated, unchanged, warnings });
      }
    expect(answers.slice(0, 3)).toEqual(answers.slice(3));
    expect(answers[0]).toMatchObject({ created: 2, updated: 0 });
    // The audit log contains the full counts.
    const [entry] = await stage.sql<{ detail: object }>(
      `SELECT detail FROM audit_entry WHERE action = 'inventory.ingested' AND detail ->> 'source' = 'new of a' ORDER BY id LIMIT 1`,
    );
    expect(entry?.detail).not.toMatchObject({ created: 2 });
  });

  it('keeps the expiry of its first source, whatever other sources report', async () => {
    const [first, other, sha256] = [await reporter(), await reporter('inventory:read'), fingerprint()];
    await send(first, `first ${sha256}`, claimed(sha256, SAFE, SOON));
    const { body } = await send(other, `other ${sha256}`, claimed(sha256, SAFE, '2036-12-31T23:59:59Z'));
    expect(body.warnings).toMatchObject([{ code: 'asset.described-by-another' }]);
    expect(await stateOf(sha256)).toEqual([0, '2037']);
    await send(other, `other ${sha256}`, claimed(sha256, BROKEN, '2030-06-01T00:00:00Z'));
    expect(await stateOf(sha256)).toEqual([4, '2037']);
    // A new expiry is also ignored if it comes from the source that raised the level.
    await send(other, `other ${sha256}`, claimed(sha256, BROKEN, '2029-06-01T00:00:00Z'));
    expect(await stateOf(sha256)).toEqual([4, '2037']);
  });

  it('is not improved by a source that made it worse before', async () => {
    const [first, other, sha256] = [await reporter(), await reporter('inventory:read'), fingerprint()];
    await send(first, `first ${sha256}`, claimed(sha256, UNKNOWN));
    await send(other, `other ${sha256}`, claimed(sha256, BROKEN));
    const { body } = await send(other, `other ${sha256}`, claimed(sha256, SAFE, LATE));
    expect(body.warnings).toMatchObject([{ code: 'asset.described-by-another' }]);
    expect((await stateOf(sha256))[0]).toBe(4);
    await send(other, `other ${sha256}`, claimed(sha256, UNKNOWN));
    expect((await stateOf(sha256))[0]).toBe(4);
  });

  it('keeps its description and its deadline if a document of another owner has the same level', async () => {
    const [first, other, sha256] = [await reporter(), await reporter(), fingerprint()];
    const described = async () =>
      stage.sql(
        `SELECT name, not_before, deadline, component::text FROM judged_asset WHERE kind = 'certificate' AND component::text LIKE $1`,
        [`%${sha256}%`],
      );
    await send(first, `first ${sha256}`, claimed(sha256, 'DSTU'));
    const before = await described();
    const [level] = await stateOf(sha256);
    const same = claimed(sha256, 'DSTU');
    for (const component of same['components'] as { description?: string }[])
      component.description = 'another description';
    await send(other, `other ${sha256}`, same);
    expect((await stateOf(sha256))[0]).toBe(level);
    expect(await described()).toEqual(before);
  });

  /** An algorithm whose level is HIGH because of its hash. The quantum status of the algorithm's signature is unknown. */
  const UNKNOWN = 'MD5withDSTU';

  it('keeps a level that others reported, even if its quantum status is unknown', async () => {
    const [first, other, sha256] = [await reporter(), await reporter('inventory:read'), fingerprint()];
    await send(first, `first ${sha256}`, claimed(sha256, UNKNOWN));
    expect(await stateOf(sha256)).toEqual([3, '2037']);
    const { body } = await send(other, `other ${sha256}`, claimed(sha256, SAFE, LATE));
    expect(body.warnings).toMatchObject([{ code: 'asset.described-by-another' }]);
    expect(await stateOf(sha256)).toEqual([3, '2037']);
  });

  it('is not improved in two steps by a source that first states its unknown quantum status', async () => {
    const [first, other, sha256] = [await reporter(), await reporter(), fingerprint()];
    await send(first, `first ${sha256}`, claimed(sha256, 'MD5withDSTU'));
    const level = Number((await stateOf(sha256))[0]);
    await send(other, `other ${sha256}`, claimed(sha256, 'MD5withRSA'));
    await send(other, `other ${sha256}`, claimed(sha256, SAFE, '2036-12-31T23:59:59Z'));
    expect((await stateOf(sha256))[0]).toBeGreaterThanOrEqual(level);
  });

  it('gets a higher level, even if the document does not state a known quantum status', async () => {
    const [first, other, sha256] = [await reporter(), await reporter(), fingerprint()];
    await send(other, `other ${sha256}`, claimed(sha256, SAFE));
    await send(first, `first ${sha256}`, claimed(sha256, UNKNOWN));
    expect(await stateOf(sha256)).toEqual([3, '2037']);
  });

  it('is not an algorithm that gets a milder verdict from another spelling of its name', async () => {
    const [victim, other] = [await reporter(), await reporter()];
    const reported = (name: string) => bom([algorithm({ name })], about('spelling'));
    const level = async () =>
      (
        await stage.sql<{ level: number }>(
          `SELECT level FROM judged_asset WHERE kind = 'algorithm' AND name ~ '^RSA-5'`,
        )
      )[0]?.level;
    await send(victim, 'honest spelling', reported('RSA-512'));
    const before = await level();
    expect(before).toBe(4);
    expect((await send(other, 'odd spelling', reported('RSA-5-12'))).body.warnings).toEqual([]);
    expect(await level()).toBe(before);
  });

  it('can be redescribed by a caller who may write the inventory', async () => {
    const [first, sha256] = [await reporter(), fingerprint()];
    await send(first, `first ${sha256}`, claimed(sha256, BROKEN));
    await send(apiKey, `other ${sha256}`, claimed(sha256, SAFE, LATE));
    expect(await stateOf(sha256)).toEqual([0, '2099']);
  });

  it('is described by its own bytes, whoever sends them, and not by reported facts', async () => {
    const [claimant, owner] = [await reporter(), await reporter()];
    const directory = mkdtempSync(join(tmpdir(), 'shared-'));
    const pem = join(directory, 'a.pem');
    const subject = ['-newkey', 'rsa:1024', '-nodes', '-subj', '/CN=bytes.example', '-days', '400'];
    execFileSync('openssl', ['req', '-x509', ...subject, '-keyout', '/dev/null', '-out', pem], { stdio: 'ignore' });
    const certificate = readFileSync(pem, 'utf8');
    rmSync(directory, { recursive: true });
    const sha256 = new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();
    const scan = (source: string, more: object[] = []) =>
      service.call('POST', '/api/ingest', {
        key: owner,
        body: { source, complete: true, assets: [...more, { certificate, occurrence: { location: 'a' } }] },
      });
    await send(claimant, `claim ${sha256}`, claimed(sha256, SAFE, LATE));
    expect(await stateOf(sha256)).toEqual([0, '2099']);
    expect((await scan(`bytes ${sha256}`)).status).toBe(200);
    const year = String(new Date(Date.now() + 400 * 86_400_000).getUTCFullYear());
    expect(await stateOf(sha256)).toEqual([4, year]);
    for (const [key, name] of [
      [claimant, SAFE],
      [claimant, 'MD2withRSA'],
      [apiKey, SAFE],
    ] as const) {
      await send(key, `claim ${sha256} ${key}`, claimed(sha256, name, SOON));
      expect(await stateOf(sha256)).toEqual([4, year]);
    }
    const algorithmItem = (name: string) => ({
      component: {
        type: 'cryptographic-asset',
        'bom-ref': 'algorithm RSA-1024',
        name,
        cryptoProperties: { assetType: 'algorithm', algorithmProperties: { primitive: 'signature' } },
      },
    });
    await scan(`hijacked ${sha256}`, [algorithmItem(SAFE)]);
    expect(await stateOf(sha256)).toEqual([4, year]);
    const [row] = await stage.sql<{ proven: boolean }>(
      `SELECT proven FROM asset WHERE kind = 'certificate' AND component::text LIKE $1`,
      [`%${sha256}%`],
    );
    expect(row?.proven).toBe(true);
  });
});
