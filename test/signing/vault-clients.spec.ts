import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { type CertifiedStage, openCertifiedStage } from '../support/certified-stage.js';
import { digestOf } from '../support/signing.js';

const CONTENT = Buffer.from('what five clients of Vault have signed');
const INPUT = CONTENT.toString('base64');
const DIGEST = digestOf(CONTENT);
const NOBODY = 'nobody-knows-this-key';

interface Sent {
  readonly status: number;
  readonly type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape are looked into
  readonly body: any;
}

let certified: CertifiedStage;
/** A key that may sign, and nothing else. */
let signer: string;
/** Signatures by name of the key, and how they were asked for. */
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

/** Just these headers and bytes: fetch would name a media type, and refuses some methods. */
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

/** Headers as the clients send them; none of them is copied here but by name and value. */
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

type Shape = 'signature' | 'batch' | 'valid' | 'not valid' | 'key' | 'keys' | 'errors' | 'nothing' | 'data' | 'plain';
interface Call {
  readonly client: string;
  readonly headers: () => Record<string, string>;
  readonly call: string;
  readonly body?: string | (() => string);
  readonly status: number;
  readonly shape: Shape;
}

const json = (value: object) => JSON.stringify(value);
const of = (name: string) => signed.get(name) ?? '';

const CALLS: Call[] = [
  // vault: every value is a text, no Content-Type, PUT.
  {
    client: 'vault write sign',
    headers: GO,
    call: 'PUT /v1/transit/sign/ec-p256',
    body: json({ input: INPUT }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'vault write sign prehashed=true',
    headers: GO,
    call: 'PUT /v1/transit/sign/ec-p256/sha2-256',
    body: json({ input: DIGEST, prehashed: 'true' }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'vault write sign key_version=1 prehashed=1',
    headers: GO,
    call: 'PUT /v1/transit/sign/rsa-2048',
    body: json({
      input: DIGEST,
      prehashed: '1',
      key_version: '1',
      signature_algorithm: 'pkcs1v15',
      hash_algorithm: 'sha2-256',
    }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'vault write sign salt_length=hash',
    headers: GO,
    call: 'PUT /v1/transit/sign/rsa-2048/sha2-256',
    body: json({ input: INPUT, salt_length: 'hash' }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'vault write verify',
    headers: GO,
    call: 'PUT /v1/transit/verify/ec-p256',
    body: () => json({ input: INPUT, signature: of('ec-p256') }),
    status: 200,
    shape: 'valid',
  },
  {
    client: 'vault write verify of something else',
    headers: GO,
    call: 'PUT /v1/transit/verify/ec-p256',
    body: () => json({ input: Buffer.from('else').toString('base64'), signature: of('ec-p256') }),
    status: 200,
    shape: 'not valid',
  },
  { client: 'vault read keys', headers: GO, call: 'GET /v1/transit/keys/ec-p256', status: 200, shape: 'key' },
  { client: 'vault list keys', headers: GO, call: 'GET /v1/transit/keys?list=true', status: 200, shape: 'keys' },
  {
    client: 'vault read of a key that is not there',
    headers: GO,
    call: `GET /v1/transit/keys/${NOBODY}`,
    status: 404,
    shape: 'nothing',
  },
  {
    client: 'vault write sign with a key that is not there',
    headers: GO,
    call: `PUT /v1/transit/sign/${NOBODY}`,
    body: json({ input: INPUT }),
    status: 400,
    shape: 'errors',
  },
  {
    client: 'vault write sign of no base64',
    headers: GO,
    call: 'PUT /v1/transit/sign/ec-p256',
    body: json({ input: 'release 9 (candidate)' }),
    status: 400,
    shape: 'errors',
  },
  {
    client: 'vault write sign hash_algorithm=md5',
    headers: GO,
    call: 'PUT /v1/transit/sign/ec-p256',
    body: json({ input: INPUT, hash_algorithm: 'md5' }),
    status: 400,
    shape: 'errors',
  },
  {
    client: 'vault write sign key_version=7',
    headers: GO,
    call: 'PUT /v1/transit/sign/ec-p256',
    body: json({ input: INPUT, key_version: '7' }),
    status: 400,
    shape: 'errors',
  },
  {
    client: 'vault write encrypt',
    headers: GO,
    call: 'PUT /v1/transit/encrypt/ec-p256',
    body: json({ plaintext: INPUT }),
    status: 400,
    shape: 'errors',
  },
  {
    client: 'vault read of another engine',
    headers: GO,
    call: 'GET /v1/transit/nothing/here',
    status: 404,
    shape: 'errors',
  },
  { client: 'vault status', headers: GO, call: 'GET /v1/sys/seal-status', status: 200, shape: 'plain' },
  { client: 'vault token lookup', headers: GO, call: 'GET /v1/auth/token/lookup-self', status: 200, shape: 'data' },
  {
    client: 'vault token capabilities',
    headers: GO,
    call: 'PUT /v1/sys/capabilities-self',
    body: json({ paths: ['transit/sign/ec-p256'] }),
    status: 200,
    shape: 'data',
  },
  {
    client: 'vault kv preflight',
    headers: GO,
    call: 'GET /v1/sys/internal/ui/mounts/transit',
    status: 200,
    shape: 'data',
  },
  // curl, as Vault's own pages have it.
  {
    client: 'curl --data JSON',
    headers: CURL,
    call: 'POST /v1/transit/sign/ec-p256',
    body: json({ input: INPUT }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'curl --data form',
    headers: CURL,
    call: 'POST /v1/transit/sign/ec-p256',
    body: `input=${encodeURIComponent(DIGEST)}&prehashed=true`,
    status: 200,
    shape: 'signature',
  },
  {
    client: 'curl with a namespace and no body',
    headers: () => ({ ...CURL(), 'X-Vault-Namespace': 'ns1/' }),
    call: 'POST /v1/transit/verify/ec-p256',
    status: 400,
    shape: 'errors',
  },
  {
    client: 'curl --data of half an object',
    headers: CURL,
    call: 'POST /v1/transit/sign/ec-p256',
    body: '{"input":',
    status: 400,
    shape: 'errors',
  },
  // hvac
  {
    client: 'hvac sign_data',
    headers: HVAC,
    call: 'POST /v1/transit/sign/rsa-2048',
    body: json({
      input: INPUT,
      hash_algorithm: 'sha2-512',
      signature_algorithm: 'pss',
      marshaling_algorithm: 'asn1',
      salt_length: 'auto',
    }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'hvac verify_signed_data',
    headers: HVAC,
    call: 'POST /v1/transit/verify/rsa-2048',
    body: () => json({ name: 'rsa-2048', input: INPUT, signature: of('rsa-2048'), signature_algorithm: 'pkcs1v15' }),
    status: 200,
    shape: 'valid',
  },
  { client: 'hvac read_key', headers: HVAC, call: 'GET /v1/transit/keys/rsa-2048', status: 200, shape: 'key' },
  {
    client: 'hvac sign_data with a context that is no base64',
    headers: HVAC,
    call: 'POST /v1/transit/sign/ec-p256',
    body: json({ input: INPUT, context: '???' }),
    status: 400,
    shape: 'errors',
  },
  {
    client: 'hvac sign_data with a batch',
    headers: HVAC,
    call: 'POST /v1/transit/sign/ec-p256',
    body: json({ batch_input: [{ input: INPUT, reference: 'a' }, { input: 'no base64!' }] }),
    status: 200,
    shape: 'batch',
  },
  {
    client: 'hvac sign_data with an empty batch',
    headers: HVAC,
    call: 'POST /v1/transit/sign/ec-p256',
    body: json({ batch_input: [] }),
    status: 400,
    shape: 'errors',
  },
  {
    client: 'hvac is_authenticated',
    headers: HVAC,
    call: 'GET /v1/auth/token/lookup-self',
    status: 200,
    shape: 'data',
  },
  {
    client: 'hvac export_key',
    headers: HVAC,
    call: 'GET /v1/transit/export/public-key/ec-p256',
    status: 200,
    shape: 'data',
  },
  {
    client: 'hvac export_key of the private half',
    headers: HVAC,
    call: 'GET /v1/transit/export/signing-key/ec-p256',
    status: 400,
    shape: 'errors',
  },
  {
    client: 'hvac read_health_status',
    headers: HVAC,
    call: 'GET /v1/sys/health?standbyok=true&sealedcode=299',
    status: 200,
    shape: 'plain',
  },
  // spring-vault: the older name of the algorithm, and a member that it writes with a blank.
  {
    client: 'spring-vault sign',
    headers: SPRING,
    call: 'POST /v1/transit/sign/ec-p256',
    body: json({ input: INPUT, algorithm: 'sha2-384' }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'spring-vault sign with a field of another version',
    headers: SPRING,
    call: 'POST /v1/transit/sign/ec-p256',
    body: json({ input: INPUT, 'key_version ': 1, derived: false }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'spring-vault verify',
    headers: SPRING,
    call: 'POST /v1/transit/verify/ec-p256',
    body: () => json({ input: INPUT, signature: of('ec-p256'), algorithm: 'sha2-256' }),
    status: 200,
    shape: 'valid',
  },
  {
    client: 'spring-vault verify of an HMAC',
    headers: SPRING,
    call: 'POST /v1/transit/verify/ec-p256',
    body: json({ input: INPUT, hmac: 'vault:v1:AAAA' }),
    status: 400,
    shape: 'errors',
  },
  {
    client: 'spring-vault getKeys',
    headers: SPRING,
    call: 'GET /v1/transit/keys?list=true',
    status: 200,
    shape: 'keys',
  },
  {
    client: 'spring-vault createKey of one that is there',
    headers: SPRING,
    call: 'POST /v1/transit/keys/ec-p256',
    body: json({ type: 'ecdsa-p256' }),
    status: 200,
    shape: 'key',
  },
  {
    client: 'spring-vault createKey of a type that encrypts',
    headers: SPRING,
    call: 'POST /v1/transit/keys/another',
    body: json({ type: 'aes256-gcm96' }),
    status: 400,
    shape: 'errors',
  },
  // VaultSharp: null for what is not set, enums as texts.
  {
    client: 'VaultSharp SignDataAsync',
    headers: SHARP,
    call: 'POST /v1/transit/sign/ec-p256/sha2-256',
    body: json({
      key_version: null,
      input: DIGEST,
      prehashed: true,
      context: null,
      signature_algorithm: 'pss',
      marshaling_algorithm: 'asn1',
      batch_input: null,
    }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'VaultSharp VerifySignedDataAsync',
    headers: SHARP,
    call: 'POST /v1/transit/verify/ec-p256/sha2-256',
    body: () => json({ input: DIGEST, prehashed: true, signature: of('ec-p256'), hmac: null, batch_input: null }),
    status: 200,
    shape: 'valid',
  },
  {
    client: 'VaultSharp ReadAllEncryptionKeysAsync',
    headers: SHARP,
    call: 'GET /v1/transit/keys?list=true',
    status: 200,
    shape: 'keys',
  },
  {
    client: 'VaultSharp with a signature of no version',
    headers: SHARP,
    call: 'POST /v1/transit/verify/ec-p256/sha2-256',
    body: json({ input: DIGEST, prehashed: true, signature: 'MEUCIQ==' }),
    status: 400,
    shape: 'errors',
  },
  {
    client: 'VaultSharp GetSecretBackendsAsync',
    headers: SHARP,
    call: 'GET /v1/sys/mounts',
    status: 200,
    shape: 'data',
  },
  // cosign, by Vault's Go client; node-vault; jsign; sops.
  {
    client: 'cosign sign',
    headers: GO,
    call: 'PUT /v1/transit/sign/ec-p256/sha2-256',
    body: `${json({ input: DIGEST, key_version: '', prehashed: true, signature_algorithm: 'pkcs1v15' })}\n`,
    status: 200,
    shape: 'signature',
  },
  {
    client: 'cosign verify, with its doubled slash',
    headers: GO,
    call: 'PUT /v1/transit/verify/rsa-2048//sha2-256',
    body: () => `${json({ input: DIGEST, prehashed: true, signature: of('rsa-2048') })}\n`,
    status: 200,
    shape: 'valid',
  },
  {
    client: 'cosign generate-key-pair',
    headers: GO,
    call: 'PUT /v1/transit/keys/ec-p256',
    body: `${json({ type: 'ecdsa-p256' })}\n`,
    status: 200,
    shape: 'key',
  },
  {
    client: 'node-vault write',
    headers: NODE_VAULT,
    call: 'POST /v1/transit/sign/ec-p256/',
    body: json({ input: INPUT, prehashed: 0 }),
    status: 200,
    shape: 'signature',
  },
  { client: 'node-vault health', headers: () => ({}), call: 'GET /v1/sys/health', status: 200, shape: 'plain' },
  {
    client: 'jsign sign',
    headers: JSIGN,
    call: 'POST /v1/transit/sign/rsa-2048',
    body: json({
      input: DIGEST,
      signature_algorithm: 'pkcs1v15',
      hash_algorithm: 'sha2-256',
      prehashed: true,
      key_version: '1',
    }),
    status: 200,
    shape: 'signature',
  },
  {
    client: 'sops, which encrypts',
    headers: GO,
    call: 'PUT /v1/transit/encrypt/rsa-2048',
    body: json({ plaintext: INPUT }),
    status: 400,
    shape: 'errors',
  },
  // Whoever may not.
  {
    client: 'vault without a token',
    headers: () => ({ 'X-Vault-Request': 'true' }),
    call: 'PUT /v1/transit/sign/ec-p256',
    body: json({ input: INPUT }),
    status: 403,
    shape: 'errors',
  },
  {
    client: 'vault with a token of another server',
    headers: () => ({ 'X-Vault-Token': 'hvs.CAESIJzG' }),
    call: 'GET /v1/transit/keys/ec-p256',
    status: 403,
    shape: 'errors',
  },
  {
    client: 'vault with a policy that lacks it',
    headers: () => ({ 'X-Vault-Token': signer }),
    call: 'GET /v1/transit/keys/ec-p256',
    status: 403,
    shape: 'errors',
  },
  { client: 'vault delete', headers: GO, call: 'DELETE /v1/transit/keys/ec-p256', status: 405, shape: 'errors' },
];

const SIGNATURE = expect.stringMatching(/^vault:v1:[A-Za-z0-9+/]+={0,2}$/);
const SHAPES: Record<Shape, unknown> = {
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
  errors: {},
  nothing: {},
};

describe('a call of a client is answered as Vault answers it', () => {
  it('of at least five clients, at least thirty', () => {
    expect(CALLS.length).toBeGreaterThanOrEqual(30);
    expect(new Set(CALLS.map(({ client }) => client.split(' ', 1)[0])).size).toBeGreaterThanOrEqual(5);
  });

  it.each(CALLS)('$client: $call', async ({ headers, call, body, status, shape }) => {
    const [method = '', path = ''] = call.split(' ');
    const answer = await send(method, path, headers(), typeof body === 'function' ? body() : body);
    expect(answer).toMatchObject({ status, type: expect.stringMatching(/^application\/json/), body: SHAPES[shape] });
    // Vault's Go client takes a 404 with any other member for an answer.
    if (shape === 'nothing') expect(answer.body).toEqual({ errors: [] });
    if (shape === 'errors') {
      expect(Object.keys(answer.body)).toEqual(['errors']);
      expect(answer.body.errors.length).toBeGreaterThan(0);
      for (const error of answer.body.errors) expect(error).toMatch(/\w/);
    }
    if (['signature', 'batch', 'valid', 'key', 'keys'].includes(shape))
      expect(answer.body).toMatchObject({
        lease_id: '',
        renewable: false,
        lease_duration: 0,
        auth: null,
        wrap_info: null,
      });
  });
});

describe('what was signed', () => {
  it.each([
    ['asn1', 'base64', 'der'],
    ['jws', 'base64url', 'ieee-p1363'],
  ] as const)('verifies outside, marshaled by %s', async (marshaling, encoding, dsaEncoding) => {
    const body = json({ input: INPUT, marshaling_algorithm: marshaling });
    const { data } = (await send('PUT', '/v1/transit/sign/ec-p256', GO(), body)).body;
    const { data: read } = (await send('GET', '/v1/transit/keys/ec-p256', GO())).body;
    const signature = Buffer.from(data.signature.split(':')[2], encoding);
    const key = { key: createPublicKey(read.keys['1'].public_key), dsaEncoding };
    expect(verify('sha256', CONTENT, key, signature)).toBe(true);
    const claim = json({ input: INPUT, signature: data.signature, marshaling_algorithm: marshaling });
    expect((await send('PUT', '/v1/transit/verify/ec-p256', GO(), claim)).body.data).toEqual({ valid: true });
  });

  it('is found under another name of the mount', async () => {
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

  it('is listed by the method that Vault made up, as hvac and curl -X LIST ask', async () => {
    const { hostname, port } = new URL(certified.service.url);
    const list = async (token: string) => {
      const socket = connect(Number(port), hostname);
      socket.write(`LIST /v1/transit/keys HTTP/1.1\r\nHost: ${hostname}\r\nX-Vault-Token: ${token}\r\n\r\n`);
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

  it('is nothing where the text is no base64: no call of this kind reaches the HSM', async () => {
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
