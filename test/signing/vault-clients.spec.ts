import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { type CertifiedStage, openCertifiedStage } from '../support/certified-stage.js';
import { digestOf } from '../support/signing.js';

const CONTENT = Buffer.from('what five clients of Vault have signed');
const INPUT = CONTENT.toString('base64');
const DIGEST = digestOf(CONTENT);

interface Sent {
  readonly status: number;
  readonly type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- responses can have any shape
  readonly body: any;
}

let certified: CertifiedStage;
/** API key that may only sign. */
let signer: string;
/** Signatures by key name. */
const signed = new Map<string, string>();

beforeAll(async () => {
  certified = await openCertifiedStage(['ec-p256', 'rsa-2048']);
  ({ key: signer } = await newApiKey(certified.service, certified.apiKey, ['sign:digest']));
  for (const [name, fields] of [
    ['ec-p256', {}],
    ['rsa-2048', { signature_algorithm: 'pkcs1v15' }],
  ] as const) {
    const body = JSON.stringify({ input: INPUT, ...fields });
    signed.set(name, (await send('PUT', `/v1/transit/sign/${name}`, GO(), body)).body.data.signature);
  }
});
afterAll(() => certified.close());

/** Sends exactly these headers and bytes. `fetch` would add a content type and rejects some methods. */
async function send(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Sent> {
  const sent = request(`${certified.service.url}${path}`, { method, headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString();
  const type = response.headers['content-type'] ?? '';
  return { status: response.statusCode ?? 0, type, body: text === '' ? undefined : JSON.parse(text) };
}

/** Headers that the clients send, reduced to names and values. */
const token = () => ({ 'X-Vault-Token': certified.apiKey });
const GO = () => ({ 'User-Agent': 'Go-http-client/1.1', 'X-Vault-Request': 'true', ...token() });
const CURL = () => ({ 'User-Agent': 'curl/8.5.0', 'Content-Type': 'application/x-www-form-urlencoded', ...token() });
const HVAC = () => ({
  'User-Agent': 'python-requests/2.32.3',
  'X-Vault-Request': 'true',
  'Content-Type': 'application/json',
  ...token(),
});
const SPRING = () => ({
  Accept: 'application/json, application/*+json',
  'Content-Type': 'application/json',
  'X-Vault-Namespace': 'team-a',
  ...token(),
});
const SHARP = () => ({ 'Content-Type': 'application/json; charset=utf-8', 'X-Vault-Request': 'true', ...token() });
const NODE_VAULT = () => ({
  'Content-Type': 'application/json',
  'X-Vault-Token': certified.apiKey,
  Accept: 'application/json',
});
const JSIGN = () => ({
  'Content-Type': 'application/json; charset=utf-8',
  Authorization: `Bearer ${certified.apiKey}`,
});

type Shape = keyof typeof SHAPES;
interface Call {
  readonly client: string;
  readonly headers: keyof typeof HEADERS;
  readonly call: string;
  readonly body?: string;
  readonly status: number;
  readonly shape: Shape;
}

const HEADERS = {
  GO,
  CURL,
  HVAC,
  SPRING,
  SHARP,
  NODE_VAULT,
  JSIGN,
  CURL_NAMESPACE: () => ({ ...CURL(), 'X-Vault-Namespace': 'ns1/' }),
  NONE: () => ({}),
  NO_TOKEN: () => ({ 'X-Vault-Request': 'true' }),
  WRONG_TOKEN: () => ({ 'X-Vault-Token': 'hvs.CAESIJzG' }),
  SIGNER: () => ({ 'X-Vault-Token': signer }),
};

const json = (value: object) => JSON.stringify(value);
const of = (name: string) => signed.get(name) ?? '';
/** Replaces the `$…` placeholders with values that are known only after the keys have been created. */
const filled = (body: string | undefined) =>
  body
    ?.replaceAll('$INPUT', INPUT)
    .replaceAll('$DIGEST_ENCODED', encodeURIComponent(DIGEST))
    .replaceAll('$DIGEST', DIGEST)
    .replaceAll(/\$SIGNATURE:([\w-]+)/g, (_, name: string) => of(name));

const CALLS = JSON.parse(readFileSync(join(import.meta.dirname, 'vault-calls.json'), 'utf8')) as Call[];

const SIGNATURE = expect.stringMatching(/^vault:v1:[A-Za-z0-9+/]+={0,2}$/);
const SHAPES = {
  signature: { data: { signature: SIGNATURE, key_version: 1 } },
  batch: {
    data: {
      batch_results: [
        { signature: SIGNATURE, key_version: 1, reference: 'a' },
        { error: expect.stringMatching(/base64/), reference: '' },
      ],
    },
  },
  valid: { data: { valid: true } },
  'not valid': { data: { valid: false } },
  key: {
    data: { latest_version: 1, keys: { '1': { public_key: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n/) } } },
  },
  keys: { data: { keys: expect.arrayContaining(['ec-p256', 'rsa-2048']) } },
  data: { data: expect.any(Object) },
  plain: { initialized: true, sealed: false },
  initialized: { initialized: true },
  errors: { errors: expect.arrayContaining([expect.stringMatching(/\w/)]) },
  nothing: { errors: [] },
};

describe('Vault clients receive the same response as from Vault', () => {
  it('for at least thirty recorded calls of at least five clients', () => {
    expect(CALLS.length).toBeGreaterThanOrEqual(30);
    expect(new Set(CALLS.map(({ client }) => client.split(' ', 1)[0])).size).toBeGreaterThanOrEqual(5);
  });

  it.each(CALLS)('$client: $call', async ({ headers, call, body, status, shape }) => {
    const [method = '', path = ''] = call.split(' ');
    const answer = await send(method, path, HEADERS[headers](), filled(body));
    expect(answer).toMatchObject({ status, type: expect.stringMatching(/^application\/json/), body: SHAPES[shape] });
    expect(Object.keys(answer.body).sort()).toEqual(membersOf(shape, answer.body));
  });
});

const ENVELOPE = ['auth', 'data', 'lease_duration', 'lease_id', 'mount_type', 'renewable', 'request_id', 'warnings'];

/** Returns the expected members of a response. A refusal has a single member, because Vault's Go client treats a 404 with any other member as a result. */
function membersOf(shape: Shape, body: object): string[] {
  if (shape === 'plain' || shape === 'initialized') return Object.keys(body).sort();
  return shape === 'errors' || shape === 'nothing' ? ['errors'] : [...ENVELOPE, 'wrap_info'].sort();
}

const SHA512 = digestOf(CONTENT, 'sha512');

describe('a call with parameters that Vault would interpret differently', () => {
  it.each([
    ['/sha2-512', { hash_algorithm: 'sha2-256' }, 'conflicting hash algorithms "sha2-512" and "sha2-256"'],
    [
      '',
      { hash_algorithm: 'sha2-256', algorithm: 'sha2-512' },
      'conflicting hash algorithms "sha2-256" and "sha2-512"',
    ],
    ['', { algorithm: 'md5-of-us' }, 'invalid hash algorithm "md5-of-us"'],
    ['/md5-of-us', {}, 'invalid hash algorithm "md5-of-us"'],
    ['', { input: SHA512, prehashed: true }, 'not a sha256 digest: it has 64 bytes, not 32'],
    ['', { marshaling_algorithm: 'p1363' }, 'invalid marshaling type "p1363"'],
  ])('is rejected, and nothing is signed: %s %o', async (hash, fields, said) => {
    const count = async () => (await certified.stage.sql('SELECT id FROM signing_request')).length;
    const before = await count();
    for (const operation of ['sign', 'verify']) {
      const body = json({ input: INPUT, signature: of('ec-p256'), ...fields });
      const answer = await send('PUT', `/v1/transit/${operation}/ec-p256${hash}`, GO(), body);
      expect(answer).toMatchObject({ status: 400, body: { errors: [expect.stringContaining(said)] } });
    }
    expect(await count()).toBe(before);
  });

  it('accepts the hash under each of its three names, for both operations', async () => {
    const ways: [string, object][] = [
      ['/sha2-512', {}],
      ['', { hash_algorithm: 'sha2-512' }],
      ['', { algorithm: 'sha2-512' }],
      ['/sha2-512', { hash_algorithm: 'sha2-512' }],
    ];
    for (const [hash, fields] of ways) {
      const signature = (await send('PUT', `/v1/transit/sign/rsa-2048${hash}`, GO(), json({ input: INPUT, ...fields })))
        .body.data.signature;
      for (const [other, more] of ways)
        expect((await send('PUT', `/v1/transit/verify/rsa-2048${other}`, GO(), json({ input: INPUT, signature, ...more }))).body.data).toEqual({ valid: true }); // prettier-ignore
      const weaker = json({ input: INPUT, signature });
      expect((await send('PUT', '/v1/transit/verify/rsa-2048', GO(), weaker)).body.data).toEqual({ valid: false });
    }
  });

  it('is rejected for a file that is too large, with the limit and the alternative', async () => {
    const body = json({ input: 'QUFB'.repeat(200_000) });
    const answer = await send('PUT', '/v1/transit/sign/ec-p256', GO(), body);
    expect(answer).toMatchObject({
      status: 413,
      body: { errors: [expect.stringMatching(/exceeds the limit of 524288 bytes.* prehashed: true\.$/)] },
    });
  });
});

describe('Vault compatibility', () => {
  it.each([
    ['asn1', 'base64', 'der'],
    ['jws', 'base64url', 'ieee-p1363'],
  ] as const)('verifies signatures outside the service, marshaled by %s', async (marshaling, encoding, dsaEncoding) => {
    const body = json({ input: INPUT, marshaling_algorithm: marshaling });
    const { data } = (await send('PUT', '/v1/transit/sign/ec-p256', GO(), body)).body;
    const { data: read } = (await send('GET', '/v1/transit/keys/ec-p256', GO())).body;
    const signature = Buffer.from(data.signature.split(':')[2], encoding);
    const key = { key: createPublicKey(read.keys['1'].public_key), dsaEncoding };
    expect(verify('sha256', CONTENT, key, signature)).toBe(true);
    const claim = json({ input: INPUT, signature: data.signature, marshaling_algorithm: marshaling });
    expect((await send('PUT', '/v1/transit/verify/ec-p256', GO(), claim)).body.data).toEqual({ valid: true });
  });

  it('returns the token of the caller, because vault login stores it', async () => {
    for (const headers of [token(), { Authorization: `Bearer ${certified.apiKey}` }]) {
      const { body } = await send('GET', '/v1/auth/token/lookup-self', headers);
      expect(body.data).toMatchObject({ id: certified.apiKey, renewable: false, ttl: 0 });
    }
    const { headers } = await certified.service.call('GET', '/v1/auth/token/lookup-self', { key: certified.apiKey });
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('names the setting when keys are requested under another mount', async () => {
    const { body } = await send('GET', '/v1/keystore/keys/ec-p256', GO());
    expect(body.errors).toEqual([
      'no handler for route "keystore/keys/ec-p256". route entry not found.',
      expect.stringContaining('SVC_TRANSIT_MOUNTS'),
    ]);
  });

  it('serves keys under another configured mount', async () => {
    const renamed = await certified.stage.start({ role: 'api', settings: { SVC_TRANSIT_MOUNTS: 'kms,team/signing' } });
    for (const mount of ['kms', 'team/signing', 'transit']) {
      const answer = await fetch(`${renamed.url}/v1/${mount}/sign/ec-p256`, {
        method: 'PUT',
        headers: GO(),
        body: json({ input: INPUT }),
      });
      expect(answer.status).toBe(200);
    }
    expect(
      (await fetch(`${renamed.url}/v1/elsewhere/sign/ec-p256`, { method: 'PUT', headers: GO(), body: '{}' })).status,
    ).toBe(404);
  });

  it('supports the LIST method, as hvac and curl -X LIST use it', async () => {
    const { hostname, port } = new URL(certified.service.url);
    const list = async (shown: string) => {
      const socket = connect(Number(port), hostname);
      socket.write(`LIST /v1/transit/keys HTTP/1.1\r\nHost: ${hostname}\r\nX-Vault-Token: ${shown}\r\n\r\n`);
      const parts: Buffer[] = [];
      for await (const part of socket) parts.push(part as Buffer);
      const [head = '', body = ''] = Buffer.concat(parts).toString().split('\r\n\r\n');
      return { status: Number(head.split(' ')[1]), body: JSON.parse(body) };
    };
    expect(await list(certified.apiKey)).toMatchObject({ status: 200, body: SHAPES.keys });
    expect(await list('hvs.wrong')).toMatchObject({
      status: 403,
      body: { errors: ['permission denied', expect.any(String)] },
    });
  });

  it('rejects text that is not base64 without calling the HSM', async () => {
    const count = async () => (await certified.stage.sql('SELECT id FROM signing_request')).length;
    const before = await count();
    for (const input of ['Y W J j', 'YWJj\n', 'YWJ', 'YWJj=', 'YR==', 'YWJj-_', 'YWJj\u00e9']) {
      const answer = await send('PUT', '/v1/transit/sign/ec-p256', GO(), json({ input }));
      expect({ input, status: answer.status }).toEqual({ input, status: 400 });
      const claim = json({ input, signature: of('ec-p256') });
      expect((await send('PUT', '/v1/transit/verify/ec-p256', GO(), claim)).status).toBe(400);
    }
    const bad = json({ input: INPUT, signature: 'vault:v1:MEUC*IQ==' });
    expect((await send('PUT', '/v1/transit/verify/ec-p256', GO(), bad)).status).toBe(400);
    expect(await count()).toBe(before);
  });
});
