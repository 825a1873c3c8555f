import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { makeCredentials, runIn } from './credentials.js';
import { corpusFile, corpusFiles, hasCorpus } from './corpus.js';

const PEM = { 'content-type': 'application/pem-certificate-chain' };
const hasKeytool = spawnSync('keytool', ['-help']).error === undefined;
const BYTES = { 'content-type': 'application/octet-stream' };
const PASSWORD = 'opens the store';

let stage: Stage;
let service: Service;
let apiKey: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealwright-credentials-'));
  makeCredentials(folder);
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ settings: { SVC_LOG_LEVEL: 'debug' } });
});
afterAll(async () => {
  await stage.close();
  rmSync(folder, { recursive: true, force: true });
});

const bytesOf = (name: string) => readFileSync(join(folder, name));
const run = (program: string, ...words: string[]) => runIn(folder, program, words);

function post(body: unknown, headers: Record<string, string>, query = ''): Promise<Answer> {
  return service.call('POST', `/api/ingest${query}`, { key: apiKey, body, headers });
}

interface Listed {
  id: string;
  name: string;
  kind: string;
}
async function assetsOf(source: string): Promise<Listed[]> {
  const { body } = await service.call('GET', `/api/assets?limit=200&source=${encodeURIComponent(source)}`, {
    key: apiKey,
  });
  return body.items;
}
async function detail(source: string, kind: string, name: string): Promise<Answer['body']> {
  const found = (await assetsOf(source)).find((asset) => asset.kind === kind && asset.name === name);
  return (await service.call('GET', `/api/assets/${found?.id}`, { key: apiKey })).body;
}

describe('uploaded certificates', () => {
  const chain = () => `${bytesOf('leaf.pem').toString()}${bytesOf('ca.pem').toString()}`;

  it('form a chain, with the same details as in OpenSSL', async () => {
    const { status, body } = await post(chain(), PEM, '?source=shop:/etc/ssl/chain.pem');
    expect({ status, format: body.format, rejected: body.rejected }).toEqual({
      status: 200,
      format: 'PEM',
      rejected: [],
    });
    expect(body.received).toBe(body.created);
    const leaf = await detail('shop:/etc/ssl/chain.pem', 'certificate', 'shop.example.com');
    const fingerprint = run('openssl', 'x509', '-in', 'leaf.pem', '-noout', '-fingerprint', '-sha256')
      .trim()
      .split('=')[1];
    const { certificateProperties } = leaf.component.cryptoProperties;
    expect(leaf.component.hashes).toEqual([
      { alg: 'SHA-256', content: fingerprint?.replaceAll(':', '').toLowerCase() },
    ]);
    expect(certificateProperties).toMatchObject({ subjectName: 'CN=shop.example.com', issuerName: 'CN=Test CA' });
    expect(leaf).toMatchObject({ level: 'MEDIUM', notAfter: expect.any(String) });
  });

  it('depend on the CA that issued them', async () => {
    const authority = await detail('shop:/etc/ssl/chain.pem', 'certificate', 'Test CA');
    const { body } = await service.call('GET', `/api/relationships/${authority.id}/blast-radius`, { key: apiKey });
    expect(body.items.map(({ name }: Listed) => name)).toEqual(['shop.example.com']);
  });

  it.each([
    ['leaf.der', 'application/octet-stream', 1],
    ['chain.p7b', 'application/x-pkcs7-certificates', 2],
  ])('are the same assets when sent as %s with type %s', async (file, type, certificates) => {
    const { body } = await post(bytesOf(file), { 'content-type': type }, `?source=${file}`);
    expect(body).toMatchObject({ created: 0, rejected: [] });
    expect((await assetsOf(file)).filter(({ kind }) => kind === 'certificate')).toHaveLength(certificates);
  });

  it('may be reported individually by a sensor, with the assets that use them', async () => {
    const certificate = bytesOf('leaf.der').toString('base64');
    const shop = { component: { type: 'application', name: 'shop' }, dependsOn: ['tls'] };
    const scan = { source: 'probe', assets: [shop, { certificate, ref: 'tls', occurrence: { location: 'shop:443' } }] };
    const { body } = await post(scan, { 'content-type': 'application/json' });
    expect(body).toMatchObject({ created: 1, rejected: [] });
    const [edge] = await stage.sql(
      `SELECT t.name FROM asset_relationship r JOIN asset f ON f.id = r.from_id JOIN asset t ON t.id = r.to_id WHERE f.name = 'shop'`,
    );
    expect(edge).toEqual({ name: 'shop.example.com' });
    const bad = await post({ assets: [{ certificate: 'bm90IG9uZQ==' }] }, { 'content-type': 'application/json' });
    expect(bad.body.rejected).toMatchObject([{ pointer: '/assets/0/certificate', detail: 'cannot be parsed' }]);
  });
});

describe('uploaded key stores', () => {
  it.each([
    ['shop.p12', 'application/pkcs12', PASSWORD, 'PBES2-HMAC-SHA256-AES-256-CBC'],
    ['old.p12', 'application/x-pkcs12', 'old', 'PBEWithSHA1AndDESede'],
  ])('%s with type %s yields its certificates, and the protection of its key', async (...row) => {
    const [file, type, password, protection] = row;
    const headers = { 'content-type': type, 'x-key-store-password': encodeURIComponent(password) };
    const { status, body } = await post(bytesOf(file), headers, `?source=${file}`);
    expect({ status, format: body.format }).toEqual({ status: 200, format: 'PKCS #12' });
    const found = await assetsOf(file);
    expect(found.map(({ kind, name }) => `${kind} ${name}`)).toContain('certificate shop.example.com');
    const key = await detail(file, 'related-crypto-material', 'shop');
    const { securedBy } = key.component.cryptoProperties.relatedCryptoMaterialProperties;
    const { body: scheme } = await service.call('GET', `/api/assets/${securedBy.algorithmRef}`, { key: apiKey });
    expect(scheme.name).toBe(protection);
  });

  describe.skipIf(!hasKeytool)('written by keytool', () => {
    const written = (file: string, type: string, ...options: string[]) => {
      const source = ['-srckeystore', 'shop.p12', '-srcstoretype', 'PKCS12', '-srcstorepass', PASSWORD];
      const target = ['-destkeystore', file, '-deststoretype', type, '-deststorepass', PASSWORD];
      run('keytool', ...options, '-importkeystore', '-noprompt', ...source, ...target);
      return bytesOf(file);
    };
    const opening = (password: string) => ({ ...BYTES, 'x-key-store-password': encodeURIComponent(password) });

    it('list their certificates without a password as JKS', async () => {
      const { body } = await post(written('shop.jks', 'JKS'), BYTES, '?source=shop.jks');
      expect(body).toMatchObject({ format: 'JKS', rejected: [] });
      const names = (await assetsOf('shop.jks')).map(({ kind, name }) => `${kind} ${name}`);
      expect(names).toEqual(
        expect.arrayContaining(['certificate shop.example.com', 'related-crypto-material shop', 'algorithm JKS']),
      );
      const wrong = await post(bytesOf('shop.jks'), opening('not this one'));
      expect(wrong.body).toMatchObject({ status: 422, code: 'key-store.password' });
    });

    it('are opened with their password as PKCS #12, with the same certificate and key', async () => {
      const store = written('java.p12', 'PKCS12');
      const { body } = await post(store, opening(PASSWORD), '?source=java.p12');
      expect(body).toMatchObject({ format: 'PKCS #12', rejected: [] });
      const names = (await assetsOf('java.p12')).map(({ kind, name }) => `${kind} ${name}`);
      expect(names).toEqual(expect.arrayContaining(['certificate shop.example.com', 'related-crypto-material shop']));
      const wrong = await post(store, opening('not this one'));
      expect(wrong.body).toMatchObject({ status: 422, code: 'key-store.password' });
    });

    it('are read even if they hide certificates with 40-bit RC2, as older PKCS #12', async () => {
      const store = written('java-old.p12', 'PKCS12', '-J-Dkeystore.pkcs12.legacy');
      const { body } = await post(store, opening(PASSWORD), '?source=java-old.p12');
      expect(body).toMatchObject({ format: 'PKCS #12', rejected: [] });
      const names = (await assetsOf('java-old.p12')).map(({ kind, name }) => `${kind} ${name}`);
      expect(names).toEqual(expect.arrayContaining(['certificate shop.example.com', 'related-crypto-material shop']));
    });
  });

  it('are rejected without the correct password, and no password is stored', async () => {
    expect((await post(bytesOf('shop.p12'), BYTES)).body).toMatchObject({ status: 422, code: 'key-store.password' });
    const wrong = await post(bytesOf('shop.p12'), { ...BYTES, 'x-key-store-password': 'not this one' });
    expect(wrong.body).toMatchObject({ status: 422, code: 'key-store.password' });
    expect(`${service.log()}${JSON.stringify(wrong.body)}`).not.toMatch(
      /not this one|opens the store|opens%20the%20store/,
    );
  });
});

describe('uploaded SSH keys', () => {
  it('are accepted as authorized_keys, and identified by the ssh-keygen fingerprint', async () => {
    const lines = `# people\nno-pty ${bytesOf('id_ed25519.pub').toString()}${bytesOf('id_rsa.pub').toString()}`;
    const { body } = await post(lines, BYTES, '?source=host:authorized_keys');
    expect(body).toMatchObject({ format: 'SSH keys', rejected: [] });
    const alice = await detail('host:authorized_keys', 'related-crypto-material', 'alice@laptop');
    const shown = run('ssh-keygen', '-l', '-f', 'id_ed25519.pub').split(' ')[1];
    expect(alice.component.cryptoProperties.relatedCryptoMaterialProperties.id).toBe(shown);
    expect(await detail('host:authorized_keys', 'related-crypto-material', 'bob')).toMatchObject({
      family: 'RSA',
      bits: 2048,
    });
  });

  it('are identified by their public half, and only an unencrypted private key is a finding', async () => {
    const open = await post(bytesOf('id_ed25519'), BYTES, '?source=open');
    const closed = await post(bytesOf('id_rsa'), BYTES, '?source=closed');
    expect([open.body.rejected, closed.body.rejected]).toEqual([[], []]);
    const rule = async (source: string) =>
      (await assetsOf(source)).filter(({ kind }) => kind === 'related-crypto-material').map(({ id }) => id)[0];
    const material = async (source: string) =>
      (await service.call('GET', `/api/assets/${await rule(source)}`, { key: apiKey })).body.materialAxis;
    expect(await material('open')).toMatchObject({ level: 'HIGH' });
    expect(await material('closed')).toBeNull();
    const body = bytesOf('id_ed25519').toString().split('\n')[2] ?? '';
    const rows = await stage.sql<{ text: string }>('SELECT a::text AS text FROM asset a');
    expect(rows.map(({ text }) => text).join()).not.toContain(body);
  });
});

describe('documents from other modules', () => {
  it('are ingested like a scan, and removed from the inbox', async () => {
    const publicKey = bytesOf('id_ed25519.pub').toString();
    const body = { reporter: 'discovery', source: 'host db1', complete: true, assets: [{ publicKey }] };
    await stage.sql(`INSERT INTO handover (id, topic, body) VALUES (gen_random_uuid(), 'inventory.assets-found', $1)`, [
      body,
    ]);
    await until('the end of the hand-over', 30, async () => (await stage.sql('SELECT id FROM handover')).length === 0);
    expect((await assetsOf('host db1')).map(({ name }) => name).sort()).toEqual(['Ed25519', 'alice@laptop']);
  });

  it('belong to the service, even if somebody else reported that source before', async () => {
    const { key } = await newApiKey(service, apiKey, ['inventory:report']);
    const report = () =>
      service.call('POST', '/api/ingest?source=tls://db2:443', { key, body: { complete: true, assets: [] } });
    expect((await report()).status).toBe(200);
    const body = { reporter: 'discovery', source: 'tls://db2:443', complete: true, assets: [] };
    await stage.sql(`INSERT INTO handover (id, topic, body) VALUES (gen_random_uuid(), 'inventory.assets-found', $1)`, [
      body,
    ]);
    await until('the end of the hand-over', 30, async () => (await stage.sql('SELECT id FROM handover')).length === 0);
    expect((await report()).body.code).toBe('source.owned');
  });
});

describe('content that returns after other content', () => {
  it('is processed as new, and its assets are present again', async () => {
    const state = async () => (await detail('rollback', 'certificate', 'Test CA')).state;
    await post(bytesOf('ca.pem'), PEM, '?source=rollback');
    await post(bytesOf('id_rsa.pub'), BYTES, '?source=rollback');
    const missed = `SELECT max(o.missed)::int AS missed FROM asset_occurrence o JOIN asset a ON a.id = o.asset_id
      JOIN inventory_source s ON s.id = o.source_id WHERE s.name = 'rollback' AND a.name = 'Test CA'`;
    expect(await stage.sql(missed)).toEqual([{ missed: 1 }]);
    await post(bytesOf('ca.pem'), PEM, '?source=rollback');
    expect(await stage.sql(missed)).toEqual([{ missed: 0 }]);
    expect(await state()).toBe('active');
  });
});

/** Number of concurrent uploads of public certificates. An upload spends most of its time waiting. */
const SENDERS = 4;

describe.skipIf(!hasCorpus)('public certificates', () => {
  const files = ['certs', 'certs/zlint', 'certs/limbo'].flatMap((path) => [
    ...corpusFiles(path, '.pem'),
    ...corpusFiles(path, '.der'),
  ]);

  it(`all ${files.length} files end accepted, or refused with a reason`, async () => {
    const unexplained: string[] = [];
    let taken = 0;
    const left = files.values();
    const send = async () => {
      for (const file of left) {
        const { status, body } = await post(corpusFile(file), BYTES, `?source=${file}`);
        const explained =
          status === 200
            ? body.received === body.created + body.updated + body.unchanged + body.rejected.length
            : status === 422 && /\w/.test(body.detail);
        if (!explained) unexplained.push(`${file} ${status}`);
        if (status === 200) taken += 1;
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, send));
    expect(unexplained).toEqual([]);
    expect(taken).toBeGreaterThan(500);
  });
});
