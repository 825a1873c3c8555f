import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, bom, material } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api', settings: { SVC_LOG_LEVEL: 'debug' } });
});
afterAll(() => stage.close());

/** A secret to search for, and the component that contains the secret. */
interface Planted {
  readonly secret: string;
  readonly component: object;
}

const random = () => randomBytes(15).toString('hex');
const SECRET_TYPES = [
  'private-key',
  'secret-key',
  'key',
  'password',
  'token',
  'credential',
  'shared-secret',
  'seed',
  'other',
  'unknown',
];

function inValues(): Planted[] {
  return SECRET_TYPES.map((type) => {
    const secret = random();
    return { secret, component: material(`value ${type}`, { type, value: secret }) };
  });
}

/** Returns components with every notation of a secret in every text member. */
function inTexts(): Planted[] {
  const ways: ((secret: string) => string)[] = [
    (secret) => `password=${secret}`,
    (secret) => `{"client_secret": "${secret}"}`,
    (secret) => `https://bob:${secret}@git.example.com/x`,
    (secret) => `Authorization: Bearer ${secret}`,
    (secret) => `API_KEY: ${secret}`,
    (secret) => `-----BEGIN RSA PRIVATE KEY-----\n${secret}\n-----END RSA PRIVATE KEY-----`,
    (secret) => `{"kty":"oct","k":"${secret}"}`,
    (secret) => `ghp_${secret}`,
  ];
  const places: ((name: string, text: string) => object)[] = [
    (name, text) => ({ ...material(name, { type: 'public-key' }), description: text }),
    (name, text) => ({ ...material(name, { type: 'public-key', value: text }) }),
    (name, text) => ({ ...material(name, { type: 'public-key' }), properties: [{ name: 'note', value: text }] }),
    (name, text) => ({ ...material(name, { type: 'public-key' }), evidence: { occurrences: [{ location: text }] } }),
    (name, text) => ({
      ...material(name, { type: 'public-key' }),
      evidence: { occurrences: [{ location: 'a', additionalContext: text }] },
    }),
  ];
  return ways.flatMap((way, w) =>
    places.map((place, p) => {
      const secret = random();
      return { secret, component: place(`text ${w} ${p}`, way(secret)) };
    }),
  );
}

function inNamedProperties(): Planted[] {
  return ['db.password', 'apiKey', 'session-token'].map((name) => {
    const secret = random();
    return { secret, component: { ...material(name, { type: 'public-key' }), properties: [{ name, value: secret }] } };
  });
}

async function dump(): Promise<string> {
  const tables = await stage.sql<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const rows = await stage.sql<{ text: string }>(`SELECT t::text AS text FROM "${name}" t`);
    texts.push(...rows.map(({ text }) => text));
  }
  return texts.join('\n');
}

describe('secrets in submitted documents', () => {
  it('are in no table, log or export, in any notation', async () => {
    const planted = [...inValues(), ...inTexts(), ...inNamedProperties()];
    expect(planted.length).toBeGreaterThanOrEqual(50);
    const document = bom(
      planted.map(({ component }) => component),
      about('planted'),
    );
    const { status, body } = await service.call('POST', '/api/ingest', { key: apiKey, body: document });
    expect({ status, received: body.received }).toEqual({ status: 200, received: planted.length });
    const exports = await Promise.all(
      ['cyclonedx', 'csv'].map(async (format) => {
        const response = await fetch(`${service.url}/api/export/${format}`, {
          headers: { authorization: `Bearer ${apiKey}` },
        });
        return response.text();
      }),
    );
    for (const text of [await dump(), ...exports]) expect(text).toContain('text 0 0');
    const everything = [await dump(), service.log(), JSON.stringify(body), ...exports].join('\n');
    expect(planted.filter(({ secret }) => everything.includes(secret)).map(({ component }) => component)).toEqual([]);
  });

  it('are not quoted in a rejection or a repair', async () => {
    const secret = random();
    const wrong = { ...material('wrong', { type: 'private-key', value: secret }), [`password=${secret}`]: 1 };
    for (const body of [bom([{ ...wrong, type: secret }]), `{"assets": "${secret}`]) {
      const answer = await service.call('POST', '/api/ingest', { key: apiKey, body });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify(answer.body.detail)).not.toContain(secret);
    }
    const repaired = await service.call('POST', '/api/ingest', {
      key: apiKey,
      body: bom([material('x', { type: secret })]),
    });
    expect(repaired.body).toMatchObject({ received: 1, repairs: [{ code: 'word.other' }] });
    expect(JSON.stringify(repaired.body)).not.toContain(secret);
    expect(service.log()).not.toContain(secret);
  });

  it('are withheld from the name of a source, as parameter, in a document and in a queued import', async () => {
    const secrets = Array.from({ length: 4 }, random);
    const sources = secrets.map((secret) => `https://build:${secret}@git.example.com/${secret.slice(0, 4)}`);
    const [byParameter = '', byName = '', byScan = '', queued = ''] = sources;
    const call = (query: string, body: object) => service.call('POST', `/api/ingest${query}`, { key: apiKey, body });
    const asset = { component: material('of a named source', { type: 'public-key' }) };
    const documents = [
      await call(`?source=${encodeURIComponent(byParameter)}`, bom([asset.component], about('x'))),
      await call('', bom([asset.component], about(byName))),
      await call('', { source: byScan, complete: true, assets: [asset] }),
    ];
    for (const [index, { status, body }] of documents.entries())
      expect([status, body.source]).toEqual([200, `https://[withheld]@git.example.com/${secrets[index]?.slice(0, 4)}`]);
    expect(documents[0]?.body.warnings).toMatchObject([{ code: 'source.secret' }]);
    const later = await call(`?async=true&source=${encodeURIComponent(queued)}`, bom([asset.component], about('y')));
    await service.call('GET', `${later.headers.get('location')}?wait=30`, { key: apiKey });
    const everything = [await dump(), service.log()].join('\n');
    expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
    const { body } = await call('?source=api-key:0190a1b2-0000-7000-8000-000000000000/ci', { assets: [asset] });
    expect(body.source).toBe('api-key:0190a1b2-0000-7000-8000-000000000000/ci');
  });

  it('identify a private key only by the hash of its public half', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const components = [
      material('private', { type: 'private-key', value: pem }),
      material('public', { type: 'public-key', value: spki }),
    ];
    await service.call('POST', '/api/ingest', { key: apiKey, body: bom(components, about('pair')) });
    const rows = await stage.sql<{ sha256: string }>(
      `SELECT p ->> 'value' AS sha256 FROM asset, json_array_elements(component -> 'properties') p
       WHERE name IN ('private', 'public') AND p ->> 'name' = 'sealwright:public-key-sha256'`,
    );
    const der = execFileSync('openssl', ['pkey', '-pubin', '-outform', 'DER'], { input: spki });
    const digest = execFileSync('openssl', ['dgst', '-sha256', '-hex'], { input: der })
      .toString()
      .split('= ')[1]
      ?.trim();
    expect(rows).toEqual([{ sha256: digest }, { sha256: digest }]);
    expect(await dump()).not.toContain(pem.split('\n')[1]);
  });
});
