import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gzipSync } from 'node:zlib';
import { type Operation, operationsOf, shippedDocument } from '../support/api-document.js';
import { isForeign } from '../support/foreign-errors.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const OPERATIONS = operationsOf(shippedDocument());
const typesOf = ({ raw }: Operation): string[] => Object.keys(raw.requestBody?.content ?? {});
/**
 * Operations with a body, except two groups: Vault bodies are recognized by content, because Vault clients send any media type. OAuth endpoints use the errors
 * of RFC 6749 section 5.2.
 */
const WITH_BODY = OPERATIONS.filter(
  (one) => typesOf(one).length > 0 && !/^\/(?:v1\/(?:transit|sys|auth)|oauth)\//.test(one.path),
);

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const ORDER = JSON.stringify({ digest: digestOf('from strangers') });
const sign = (body: string | Buffer, headers: Record<string, string> = {}) =>
  service.call('POST', '/api/v1/sign/digest', { key: apiKey, body, headers });

describe('the content type of a body', () => {
  it.each(WITH_BODY.map((one) => [`${one.method} ${one.path}`, one] as const))(
    '%s: an unsupported one is rejected with the supported types',
    async (_, operation) => {
      const path = operation.path.replaceAll(/\{\w+\}/g, '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11');
      const headers = { 'content-type': 'application/x-cannot-be-taken' };
      const answer = await service.call(operation.method, path, { key: apiKey, body: 'x', headers });
      expect(answer.status).toBe(415);
      const text: string = isForeign(path) ? answer.body.error : answer.body.detail;
      for (const type of typesOf(operation)) expect(text).toContain(type);
    },
  );

  it.each([
    'application/json; charset=UTF-8',
    'application/json;charset=utf-8',
    'APPLICATION/JSON',
    'application/json; q=1; version="2"',
    'application/vnd.example.v1+json',
    'application/problem+json; charset=utf-8',
    'text/json',
  ])('%s is accepted as JSON', async (type) => {
    expect((await sign(ORDER, { 'content-type': type })).status).toBe(200);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonp'])(
    '%s is rejected: a form of another site could send it, or it is not JSON',
    async (type) => {
      assertProblem(await sign(ORDER, { 'content-type': type }), { status: 415, code: 'request.media-type' });
    },
  );

  it('is rejected with a content encoding, naming the supported one', async () => {
    const answer = await sign(gzipSync(ORDER), { 'content-encoding': 'gzip' });
    assertProblem(answer, { status: 415, code: 'request.media-type' });
    expect(answer.body.detail).toMatch(/Content-Encoding is not supported/);
    expect(answer.headers.get('accept-encoding')).toBe('identity');
  });
});

describe('the bytes of a JSON body', () => {
  const mark = (bytes: number[], encoding: BufferEncoding = 'utf8') =>
    Buffer.concat([Buffer.from(bytes), Buffer.from(ORDER, encoding)]);
  const swapped = (bytes: Buffer) => Buffer.from(bytes).swap16();

  it('may start with a UTF-8 byte order mark', async () => {
    expect((await sign(mark([0xef, 0xbb, 0xbf]))).status).toBe(200);
  });

  it.each([
    ['UTF-16', mark([0xff, 0xfe], 'utf16le')],
    ['UTF-16', swapped(mark([0xff, 0xfe], 'utf16le'))],
    ['UTF-16', mark([], 'utf16le')],
    ['UTF-16', swapped(mark([], 'utf16le'))],
    ['UTF-32', Buffer.from([0, 0, 0, 0x7b, 0, 0, 0, 0x7d])],
  ])('in %s are rejected with the encoding', async (name, body) => {
    const answer = await sign(body);
    assertProblem(answer, { status: 400, code: 'request.malformed' });
    expect(answer.body.detail).toContain(name);
  });

  it.each([
    ['{"digest":"x",}', /line 1, column 15: trailing commas are not allowed/],
    ['{\n  "digest": \'x\'\n}', /line 2, column 13: strings must be in double quotation marks/],
    ['{"digest"', /unexpected end of text/],
    ['   ', /only white space/],
    ['{"a":1}{"a":1}', /send a single value/],
  ])('%j: are rejected with the fault and its position', async (body, words) => {
    const answer = await sign(body);
    assertProblem(answer, { status: 400, code: 'request.malformed', pointer: '' });
    expect(answer.body.detail).toMatch(words);
  });

  it('are reported as missing if empty', async () => {
    const answer = await sign('');
    assertProblem(answer, { status: 400, code: 'request.invalid' });
  });
});

describe('paths and methods', () => {
  it.each(['/api/v1/sign/digest/', '//api/v1//sign/digest', '/api/v1/sign/dige%73t'])(
    '%s is the same path',
    async (path) => {
      expect((await service.call('POST', path, { key: apiKey, body: ORDER })).status).toBe(200);
    },
  );

  it.each([
    ['DELETE', '/api/v1/sign/digest', 'POST'],
    ['PUT', '/api/v1/signing-keys/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11', 'GET, HEAD, PATCH'],
  ])('%s %s returns the allowed methods', async (method, path, allow) => {
    const answer = await service.call(method, path, { key: apiKey, body: {} });
    assertProblem(answer, { status: 405, code: 'route.method' });
    expect(answer.headers.get('allow')).toBe(allow);
    assertProblem(await service.call(method, '/api/v1/nothing', { key: apiKey }), {
      status: 404,
      code: 'route.missing',
    });
  });

  it.each([
    ['a query for a timestamp', { 'content-type': 'application/timestamp-query' }],
    ['a form', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['half an object', { 'content-type': 'application/json' }],
    ['a packed body', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('an unknown path returns 404 before %s is validated', async (_, headers) => {
    for (const path of ['/signserver/process', '/timestamp', '/api/v1/sign'])
      assertProblem(await service.call('POST', path, { key: apiKey, body: '{"', headers }), {
        status: 404,
        code: 'route.missing',
      });
    const answer = await service.call('PUT', '/tsa', { key: apiKey, body: '{"', headers });
    assertProblem(answer, { status: 405, code: 'route.method' });
  });

  it.each([' ', '  ', '      '])(
    '"Bearer%sKEY": any number of spaces is accepted (RFC 9110 section 11.4)',
    async (space) => {
      const headers = { authorization: `Bearer${space}${apiKey}` };
      expect((await service.call('GET', '/api/v1/signing-keys', { headers })).status).toBe(200);
      const more = { authorization: `Bearer${space}${apiKey} more` };
      assertProblem(await service.call('GET', '/api/v1/signing-keys', { headers: more }), {
        status: 401,
        code: 'auth.missing',
      });
    },
  );

  it('HEAD responds like GET without the body', async () => {
    const head = await fetch(`${service.url}/api/v1/signing-keys`, {
      method: 'HEAD',
      headers: { authorization: `bearer ${apiKey}` },
    });
    expect({ status: head.status, text: await head.text() }).toEqual({ status: 200, text: '' });
  });

  it.each(['Bearer', 'Bearer ', `Basic ${Buffer.from('any:x').toString('base64')}`, 'Token x', ''])(
    'Authorization: "%s" is rejected with the expected scheme',
    async (authorization) => {
      const answer = await service.call('GET', '/api/v1/signing-keys', { headers: { authorization } });
      expect(answer.status).toBe(401);
      expect(answer.body.detail).toMatch(/\w/);
    },
  );

  it.each(['*/*', 'text/html', 'application/xml;q=0.9, */*;q=0.1', 'application/problem+json', ''])(
    'Accept: "%s" is ignored',
    async (accept) => {
      expect((await sign(ORDER, { accept })).status).toBe(200);
    },
  );

  it('a preflight from the console origin is answered, and none from another', async () => {
    const preflight = (origin: string) =>
      fetch(`${service.url}/api/v1/sign/digest`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
      });
    expect((await preflight('http://localhost:4200')).headers.get('access-control-allow-origin')).toBe(
      'http://localhost:4200',
    );
    expect((await preflight('https://elsewhere.example')).headers.get('access-control-allow-origin')).toBeNull();
  });
});
