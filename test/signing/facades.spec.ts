import { createHash, createPublicKey, verify, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApprover, newGuardedKey } from '../approvals/approvers.js';
import { newApiKey } from '../support/access.js';
import { type CertifiedStage, openCertifiedStage } from '../support/certified-stage.js';
import type { Answer } from '../support/service.js';
import { digestOf, publishedKey, verifies } from '../support/signing.js';

const CONTENT = Buffer.from('a file that was released');

let certified: CertifiedStage;

beforeAll(async () => {
  certified = await openCertifiedStage(['ec-p256', 'rsa-2048'], { shim: true });
});
afterAll(() => certified.close());

/** Returns the number of signatures with signing keys requested from the HSM. Excludes the canary and the log key, which sign concurrently. */
async function asked(): Promise<number> {
  const rows = await certified.stage.sql<{ cka: string }>(
    `SELECT encode(cka_id, 'hex') AS cka FROM signing_key_version`,
  );
  const keys = new Set(rows.map(({ cka }) => cka));
  return certified.stage.shim?.journal().filter(({ kind, key }) => kind === 'ask' && keys.has(key)).length ?? NaN;
}

const keyOf = (name: string) => publishedKey(certified.service, certified.apiKey, name);

/** Sends a call as a Vault client does, with the client's headers and path. */
function vault(method: string, path: string, body?: object, token = certified.apiKey): Promise<Answer> {
  return certified.service.call(method, `/v1/transit/${path}`, { body, headers: { 'x-vault-token': token } });
}

function bytesOf(signature: string, encoding: BufferEncoding = 'base64'): Buffer {
  const [, , value = ''] = signature.split(':');
  return Buffer.from(value, encoding);
}

/** Sends exactly these headers and bytes, plus the headers that HTTP requires. `fetch` would add a content type. */
async function wire(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Answer> {
  const sent = request(`${certified.service.url}${path}`, { method, headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return {
    status: response.statusCode ?? 0,
    headers: new Headers(),
    body: JSON.parse(Buffer.concat(parts).toString()),
  };
}

/**
 * Requests of Vault and SignServer clients with the headers, paths and bodies in the clients' sources: Vault's Go client inside cosign
 * (sigstore/pkg/signature/kms/hashivault/client.go, hashicorp/vault/api/request.go), and jsign (HashiCorpVaultSigningService.java,
 * SignServerSigningService.java, RESTClient.java).
 */
const COSIGN = () => ({
  'User-Agent': 'Go-http-client/1.1',
  'X-Vault-Request': 'true',
  'X-Vault-Token': certified.apiKey,
});
const JSIGN = {
  'User-Agent': 'Jsign (https://ebourg.github.io/jsign/)',
  Accept: 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
  'Content-Type': 'application/json; charset=utf-8',
};
const bearer = () => ({ Authorization: `Bearer ${certified.apiKey}` });
const basic = () => ({ Authorization: `Basic ${Buffer.from(`jsign:${certified.apiKey}`).toString('base64')}` });

describe('recorded requests of real clients', () => {
  it.each(['ec-p256', 'rsa-2048'])('from cosign with hashivault://%s: read the key, sign, verify', async (name) => {
    const { body: read } = await wire('GET', `/v1/transit/keys/${name}`, COSIGN());
    const latest = read.data.keys[String(read.data.latest_version)];
    // The Go client sorts the map by name and appends a newline. The version is a string, and there is no content type.
    const input = digestOf(CONTENT);
    const sign = { input, key_version: '0', prehashed: true, signature_algorithm: 'pkcs1v15' };
    const made = await wire('PUT', `/v1/transit/sign/${name}/sha2-256`, COSIGN(), `${JSON.stringify(sign)}\n`);
    expect(made).toMatchObject({ status: 200, body: { data: { key_version: 1 } } });
    const signature = Buffer.from(made.body.data.signature.replace(/^vault:v[0-9]+:/, ''), 'base64');
    expect(verify('sha256', CONTENT, createPublicKey(latest.public_key), signature)).toBe(true);
    const valid = async (of: string) => {
      const body = { input: of, prehashed: true, signature: `vault:v1:${signature.toString('base64')}` };
      return (await wire('PUT', `/v1/transit/verify/${name}/sha2-256`, COSIGN(), `${JSON.stringify(body)}\n`)).body
        .data;
    };
    expect(await valid(input)).toEqual({ valid: true });
    expect(await valid(digestOf(Buffer.from('a file that was releasee')))).toEqual({ valid: false });
  });

  it('from jsign with HASHICORPVAULT: read the key type, then sign with the version in the alias', async () => {
    const { body: read } = await wire('GET', '/v1/transit/keys/rsa-2048', { ...JSIGN, ...bearer() });
    expect(read.data.type.slice(0, read.data.type.indexOf('-')).toUpperCase()).toBe('RSA');
    const ask = (version: string) => {
      const [input, prehashed, padding] = [digestOf(CONTENT), true, 'pkcs1v15'];
      const body = { input, signature_algorithm: padding, hash_algorithm: 'sha2-256', prehashed, key_version: version };
      return wire('POST', '/v1/transit/sign/rsa-2048', { ...JSIGN, ...bearer() }, JSON.stringify(body));
    };
    const { body } = await ask('1');
    const signature = Buffer.from(body.data.signature.split(':')[2], 'base64');
    expect(verifies(CONTENT, await keyOf('rsa-2048'), signature)).toBe(true);
    const before = await asked();
    expect(await ask('2')).toMatchObject({ status: 400, body: { errors: [expect.stringMatching(/only version 1/)] } });
    expect(await ask('latest')).toMatchObject({
      status: 400,
      body: { errors: [expect.stringMatching(/key_version/)] },
    });
    expect(await asked()).toBe(before);
  });

  it('from jsign with SIGNSERVER: get the certificate for an empty hash, then a signature that it verifies', async () => {
    const process = (data: string) => {
      const metaData = { CLIENTSIDE_HASHDIGESTALGORITHM: 'SHA-256', USING_CLIENTSUPPLIED_HASH: 'true' };
      const body = JSON.stringify({ data, metaData, encoding: 'BASE64' });
      return wire('POST', '/rest/v1/workers/rsa-2048/process', { ...JSIGN, ...basic() }, body);
    };
    const { body: first } = await process('47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=');
    const { publicKey } = new X509Certificate(Buffer.from(first.signerCertificate, 'base64'));
    const { body: second } = await process(digestOf(CONTENT));
    expect(verify('sha256', CONTENT, publicKey, Buffer.from(second.data, 'base64'))).toBe(true);
  });
});

describe('the Vault transit engine routes', () => {
  it('keys/:name: return public keys by version, as cosign and jsign read them', async () => {
    const { status, body } = await vault('GET', 'keys/ec-p256');
    expect({ status, data: body.data }).toMatchObject({
      status: 200,
      data: { name: 'ec-p256', type: 'ecdsa-p256', latest_version: 1 },
    });
    expect(body.data.keys['1'].public_key).toBe((await keyOf('ec-p256')).publicKey);
  });

  it.each(['PUT', 'POST'])('%s sign/:name/:hash: sign a hash value, as cosign asks', async (method) => {
    for (const path of ['sign/ec-p256/sha2-256', 'sign/ec-p256//sha2-256']) {
      const { status, body } = await vault(method, path, { input: digestOf(CONTENT), prehashed: true });
      expect({ status, version: body.data?.key_version }).toEqual({ status: 200, version: 1 });
      expect(body.data.signature).toMatch(/^vault:v1:/);
      expect(verifies(CONTENT, await keyOf('ec-p256'), bytesOf(body.data.signature))).toBe(true);
    }
  });

  it.each(['PUT', 'POST'])('%s sign/:name: sign with an RSA key and pkcs1v15, as jsign asks', async (method) => {
    const body = { input: digestOf(CONTENT), prehashed: true, signature_algorithm: 'pkcs1v15' };
    const answer = await vault(method, 'sign/rsa-2048', body);
    expect(verifies(CONTENT, await keyOf('rsa-2048'), bytesOf(answer.body.data.signature))).toBe(true);
  });

  it('sign unhashed input, and return r‖s in base64url for JWS', async () => {
    const body = { input: CONTENT.toString('base64'), marshaling_algorithm: 'jws' };
    const answer = await vault('PUT', 'sign/ec-p256', body);
    const key = { key: createPublicKey((await keyOf('ec-p256')).publicKey), dsaEncoding: 'ieee-p1363' as const };
    expect(verify('sha256', CONTENT, key, bytesOf(answer.body.data.signature, 'base64url'))).toBe(true);
  });

  it('verify/:name//:hash: accept a signature, reject a flipped byte, without the HSM', async () => {
    const { body } = await vault('PUT', 'sign/ec-p256/sha2-256', { input: digestOf(CONTENT), prehashed: true });
    const before = await asked();
    const valid = async (input: string, signature: string) =>
      (await vault('PUT', 'verify/ec-p256//sha2-256', { input, prehashed: true, signature })).body.data.valid;
    expect(await valid(digestOf(CONTENT), body.data.signature)).toBe(true);
    expect(await valid(digestOf('other'), body.data.signature)).toBe(false);
    const wrong = bytesOf(body.data.signature);
    wrong.writeUInt8(wrong.readUInt8(20) ^ 1, 20);
    expect(await valid(digestOf(CONTENT), `vault:v1:${wrong.toString('base64')}`)).toBe(false);
    const newer = { input: digestOf(CONTENT), prehashed: true, signature: body.data.signature.replace('v1', 'v2') };
    expect((await vault('PUT', 'verify/ec-p256//sha2-256', newer)).body.errors).toEqual([
      expect.stringMatching(/too new/),
    ]);
    expect(await asked()).toBe(before);
  });

  it('verify takes 100 items of a batch, each with its result', async () => {
    const input = digestOf(CONTENT);
    const { body } = await vault('PUT', 'sign/ec-p256/sha2-256', { input, prehashed: true });
    const { signature } = body.data;
    const items = [
      { input, signature },
      { input: digestOf('other'), signature },
      { input: 'no base64!', signature },
    ];
    const answer = await vault('PUT', 'verify/ec-p256/sha2-256', { batch_input: items, prehashed: true });
    expect(answer.body.data.batch_results).toMatchObject([
      { valid: true },
      { valid: false },
      { error: expect.any(String) },
    ]);
    const many = Array.from({ length: 101 }, () => ({ input, signature }));
    const refused = await vault('PUT', 'verify/ec-p256/sha2-256', { batch_input: many, prehashed: true });
    expect(refused).toMatchObject({ status: 400, body: { errors: [expect.stringMatching(/more than 100 items/)] } });
  });

  it('apply the same policy: constraints, scopes and credentials, and record every signature as a request', async () => {
    const order = { name: 'only-jws', type: 'ec-p256', constraints: { formats: ['jws'] } };
    await certified.service.call('POST', '/api/v1/signing-keys', { key: certified.apiKey, body: order });
    const before = await asked();
    const refused = await vault('PUT', 'sign/only-jws/sha2-256', { input: digestOf(CONTENT), prehashed: true });
    expect(refused).toMatchObject({ status: 403, body: { errors: [expect.stringMatching(/format/)] } });
    const nobody = await vault('PUT', 'sign/ec-p256', { input: digestOf(CONTENT) }, 'sw_wrong');
    expect(nobody).toMatchObject({ status: 403, body: { errors: ['permission denied', expect.any(String)] } });
    expect(await asked()).toBe(before);
    const digest = digestOf('recorded');
    await vault('PUT', 'sign/ec-p256/sha2-256', { input: digest, prehashed: true });
    const { body } = await certified.service.call('GET', '/api/v1/sign/requests?limit=1', { key: certified.apiKey });
    expect(body.items[0]).toMatchObject({ digest, status: 'SIGNED', key: { name: 'ec-p256' } });
  });

  it('refuse a key that requires approval with a link, and return the signature to the same call after approval', async () => {
    const place = { stage: certified.stage, service: certified.service, apiKey: certified.apiKey };
    const approver = await newApprover(place);
    const { key } = await newGuardedKey(place, [{ members: [approver], threshold: 1 }]);
    const ask = (input = digestOf(CONTENT)) => vault('PUT', `sign/${key.name}/sha2-256`, { input, prehashed: true });
    const [first, second] = [await ask(), await ask()];
    for (const answer of [first, second]) expect(answer.status).toBe(403);
    const [, waiting = '', approval = ''] =
      /Request (\S+) is pending at http\S+\/approvals\/([\w-]+)\./.exec(first.body.errors[0]) ?? [];
    expect(second.body).toEqual(first.body);
    const { body } = await certified.service.call('GET', `/api/v1/sign/requests/${waiting}`, { key: certified.apiKey });
    expect(body.status).toBe('PENDING_APPROVAL');
    const vote = { key: approver.accessToken, body: {} };
    expect((await certified.service.call('POST', `/api/v1/approvals/${approval}/approve`, vote)).status).toBe(200);
    const { status, body: made } = await ask();
    expect(status).toBe(200);
    expect(verifies(CONTENT, key, bytesOf(made.data.signature))).toBe(true);
    expect((await ask(digestOf('another file'))).status).toBe(403);
  });

  it('limit an approval to one caller, one scheme and one version of the key', async () => {
    const place = { stage: certified.stage, service: certified.service, apiKey: certified.apiKey };
    const approver = await newApprover(place);
    const { key } = await newGuardedKey(place, [{ members: [approver], threshold: 1 }], {}, 'rsa-2048');
    const ask = (scheme = 'pkcs1v15', token = certified.apiKey) => {
      const body = { input: digestOf(CONTENT), prehashed: true, signature_algorithm: scheme };
      return vault('PUT', `sign/${key.name}/sha2-256`, body, token);
    };
    const approvalIn = ({ body }: Answer) => /\/approvals\/([\w-]+)/.exec(body.errors?.[0])?.[1];
    const first = approvalIn(await ask()) ?? '';
    const path = `/api/v1/approvals/${first}/approve`;
    expect((await certified.service.call('POST', path, { key: approver.accessToken, body: {} })).status).toBe(200);
    expect((await ask()).status).toBe(200);

    const other = await newApiKey(certified.service, certified.apiKey, ['sign:digest']);
    const elsewhere = [await ask('pss'), await ask('pkcs1v15', other.key)];
    const rotation = { key: certified.apiKey, body: {} };
    const { body: rotated } = await certified.service.call('POST', `/api/v1/signing-keys/${key.id}/rotate`, rotation);
    expect(rotated.version).toBe(2);
    elsewhere.push(await ask());
    const approvals = elsewhere.map(approvalIn);
    expect(elsewhere.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(new Set([first, ...approvals]).size).toBe(4);
  });
});

describe('the SignServer route', () => {
  function process(worker: string, data: string, algorithm = 'SHA-256', under = ''): Promise<Answer> {
    const credentials = Buffer.from(`any:${certified.apiKey}`).toString('base64');
    const metaData = { USING_CLIENTSUPPLIED_HASH: 'true', CLIENTSIDE_HASHDIGESTALGORITHM: algorithm };
    return certified.service.call('POST', `${under}/rest/v1/workers/${worker}/process`, {
      body: { data, encoding: 'BASE64', metaData },
      headers: { authorization: `Basic ${credentials}` },
    });
  }

  it.each(['rsa-2048', 'ec-p256'])('%s: signs a hash value, and returns the certificate', async (name) => {
    const { status, body } = await process(name, digestOf(CONTENT));
    expect(status).toBe(200);
    const key = await keyOf(name);
    expect(verifies(CONTENT, key, Buffer.from(body.data, 'base64'))).toBe(true);
    const certificate = Buffer.from(body.signerCertificate, 'base64');
    const spki = createPublicKey(key.publicKey).export({ type: 'spki', format: 'der' });
    expect(certificate.includes(spki)).toBe(true);
  });

  it('also exists below /signserver, as on the SignServer product', async () => {
    const { status, body } = await process('ec-p256', digestOf(CONTENT), 'SHA-256', '/signserver');
    expect(status).toBe(200);
    expect(verifies(CONTENT, await keyOf('ec-p256'), Buffer.from(body.data, 'base64'))).toBe(true);
    expect(await process('nobody', digestOf(CONTENT), 'SHA-256', '/signserver')).toMatchObject({
      status: 404,
      body: { error: expect.stringContaining('nobody') },
    });
  });

  it('returns the certificate for an empty hash, and signs nothing', async () => {
    const before = await asked();
    const { status, body } = await process('rsa-2048', createHash('sha256').digest('base64'));
    expect({ status, data: body.data, certificate: typeof body.signerCertificate }).toEqual({
      status: 200,
      data: '',
      certificate: 'string',
    });
    expect(await asked()).toBe(before);
  });

  it('rejects unknown workers, and data that is not hashed', async () => {
    expect(await process('nobody', digestOf(CONTENT))).toMatchObject({
      status: 404,
      body: { error: expect.stringMatching(/nobody/) },
    });
    const short = await process('rsa-2048', digestOf(CONTENT, 'sha1'));
    expect(short).toMatchObject({ status: 400, body: { error: expect.stringMatching(/20 bytes/) } });
  });

  it('rejects a key without a certificate before signing, because clients require signerCertificate', async () => {
    const order = { key: certified.apiKey, body: { name: 'bare', type: 'ec-p256' } };
    expect((await certified.service.call('POST', '/api/v1/signing-keys', order)).status).toBe(201);
    const before = await asked();
    for (const data of [createHash('sha256').digest('base64'), digestOf(CONTENT)])
      expect(await process('bare', data)).toMatchObject({
        status: 409,
        body: { error: expect.stringMatching(/no certificate/) },
      });
    expect(await asked()).toBe(before);
  });

  const ask = (body: object) => {
    const headers = { authorization: `Basic ${Buffer.from(`any:${certified.apiKey}`).toString('base64')}` };
    return certified.service.call('POST', '/rest/v1/workers/ec-p256/process', { body, headers });
  };

  const encoded = CONTENT.toString('base64');
  it.each<[string, object]>([
    ['data that is hashed here', { data: encoded, encoding: 'BASE64' }],
    [
      'the same as jsign asks with |serverside',
      { data: encoded, encoding: 'BASE64', metaData: { USING_CLIENTSUPPLIED_HASH: 'false' } },
    ],
    ['text without an encoding', { data: CONTENT.toString(), metaData: { FILENAME: 'a.txt' } }],
    ['members of other versions', { data: encoded, encoding: 'base64', requestMetaData: {}, metaData: { OTHER: 'x' } }],
  ])('accepts %s', async (_, body) => {
    const answer = await ask(body);
    expect(answer.status).toBe(200);
    expect(verifies(CONTENT, await keyOf('ec-p256'), Buffer.from(answer.body.data, 'base64'))).toBe(true);
  });

  it.each<[string, object]>([
    ['no data', { encoding: 'BASE64' }],
    ['data that is no base64', { data: 'release 3!', encoding: 'BASE64' }],
    ['an encoding that nobody knows', { data: 'AAAA', encoding: 'BASE32' }],
    [
      'a hash function that nobody should use',
      { data: 'AAAA', encoding: 'BASE64', metaData: { CLIENTSIDE_HASHDIGESTALGORITHM: 'MD5' } },
    ],
    ['metadata that is a list', { data: 'AAAA', encoding: 'BASE64', metaData: [] }],
  ])('rejects %s', async (_, body) => {
    expect(await ask(body)).toMatchObject({ status: 400, body: { error: expect.stringMatching(/\w/) } });
  });

  it('names the encoding parameter when a hash value is sent as base64 without it', async () => {
    const metaData = { USING_CLIENTSUPPLIED_HASH: 'true', CLIENTSIDE_HASHDIGESTALGORITHM: 'SHA-256' };
    const answer = await ask({ data: digestOf(CONTENT), metaData });
    const error =
      '/data: is not a sha256 hash value: it has 44 bytes, not 32; if it is base64, set "encoding" to "BASE64".';
    expect(answer).toMatchObject({ status: 400, body: { error } });
    expect((await ask({ data: digestOf(CONTENT), metaData, encoding: 'BASE64' })).status).toBe(200);
  });

  it('repeats the reason in the header that SignClient shows', async () => {
    const answer = await ask({ data: 'AAAA', encoding: 'HEX' });
    expect(answer.headers.get('x-signserver-error-message')).toBe(answer.body.error);
  });

  it('requests Basic authentication with a message that clients can show', async () => {
    const answer = await certified.service.call('POST', '/rest/v1/workers/ec-p256/process', { body: {} });
    expect(answer).toMatchObject({ status: 401, body: { error: expect.stringMatching(/password of HTTP Basic/) } });
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
  });
});
