import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RefusedCalls } from '../support/refused-calls.js';
import type { CallOptions, Service } from '../support/service.js';
import { digestOf } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const GOOD = { digest: digestOf('content') };
/** Returns the JSON text of a valid body with one more member, which may have a value that JSON.stringify cannot produce. */
const withMember = (member: string) => `{"digest":"${GOOD.digest}",${member}}`;
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

let stage: Stage;
let calls: RefusedCalls;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  calls = new RefusedCalls(stage, service, apiKey);
});
afterAll(() => stage.close());

type Row = [what: string, body: unknown, status: number, code: string, pointer?: string];

describe('a digest is rejected', () => {
  it.each<Row>([
    ['hexadecimal', { digest: Buffer.alloc(32, 1).toString('hex') }, 400, 'digest.hex', '/digest'],
    [
      'a text',
      { digest: Buffer.from('{"sub":"root","role":"admin","": ""}'.slice(0, 32)).toString('base64') },
      400,
      'digest.text',
      '/digest',
    ],
    ['too short for sha256', { digest: Buffer.alloc(20).toString('base64') }, 400, 'digest.length', '/digest'],
    ['of another algorithm', { ...GOOD, algorithm: 'sha512' }, 400, 'digest.length', '/digest'],
    ['no base64 at all', { digest: 'not a digest!' }, 400, 'digest.not-base64', '/digest'],
    ['base64url', { digest: Buffer.alloc(32, 255).toString('base64url') }, 400, 'digest.not-base64', '/digest'],
    ['base64 with stray bits at the end', { digest: `${'A'.repeat(42)}B=` }, 400, 'digest.not-base64', '/digest'],
    ['base64 with a line break', { digest: `${GOOD.digest}\n` }, 400, 'digest.not-base64', '/digest'],
    ['empty', { digest: '' }, 400, 'digest.not-base64', '/digest'],
    ['absent', {}, 400, 'request.invalid', '/digest'],
    ['null', { digest: null }, 400, 'request.invalid', '/digest'],
    ['a number', { digest: 5 }, 400, 'request.invalid', '/digest'],
    ['a list', { digest: [GOOD.digest] }, 400, 'request.invalid', '/digest'],
    ['an object', { digest: { $ne: '' } }, 400, 'request.invalid', '/digest'],
    ['longer than any digest', { digest: 'A'.repeat(200) }, 400, 'request.invalid', '/digest'],
  ])('%s', async (_, body, status, code, pointer) => {
    await calls.post({ status, code, pointer }, '/api/v1/sign/digest', { body });
  });
});

describe('a signing request is rejected', () => {
  it.each<Row>([
    ['sha1', { ...GOOD, algorithm: 'sha1' }, 400, 'algorithm.unsupported', '/algorithm'],
    ['md5', { ...GOOD, algorithm: 'MD5' }, 400, 'algorithm.unsupported', '/algorithm'],
    ['an algorithm named like a property', { ...GOOD, algorithm: 'toString' }, 400, 'algorithm.unsupported'],
    ['a scheme that is none', { ...GOOD, scheme: 'rsa' }, 400, 'request.invalid', '/scheme'],
    ['an RSA scheme for an EC key', { ...GOOD, scheme: 'rsa-pss' }, 400, 'scheme.wrong-key', '/scheme'],
    [
      'an EC scheme for an RSA key',
      { ...GOOD, key: 'demo-rsa', scheme: 'ecdsa-der' },
      400,
      'scheme.wrong-key',
      '/scheme',
    ],
    ['an unknown key', { ...GOOD, key: 'nobody' }, 422, 'signing-key.unknown', '/key'],
    ['the id of no key', { ...GOOD, key: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11' }, 422, 'signing-key.unknown', '/key'],
    ['an empty key', { ...GOOD, key: '' }, 400, 'request.invalid', '/key'],
    ['an unknown format', { ...GOOD, format: 'pgp' }, 400, 'request.invalid', '/format'],
    ['an unknown field', { ...GOOD, asinc: true }, 400, 'request.invalid', '/asinc'],
    ['async as a string', { ...GOOD, async: 'false' }, 400, 'request.invalid', '/async'],
    ['async as a number', { ...GOOD, async: 0 }, 400, 'request.invalid', '/async'],
    ['metadata over 8 KB', { ...GOOD, metadata: { note: 'x'.repeat(8200) } }, 400, 'request.invalid', '/metadata'],
    ['metadata that is a list', { ...GOOD, metadata: ['a'] }, 400, 'request.invalid', '/metadata'],
    ['a reference that is too long', { ...GOOD, reference: 'r'.repeat(201) }, 400, 'request.invalid', '/reference'],
    ['a NUL in the metadata', { ...GOOD, metadata: { a: 'b\0' } }, 400, 'request.invalid', '/metadata/a'],
    ['a NUL in the key', { ...GOOD, key: 'default\0' }, 400, 'request.invalid', '/key'],
    ['a NUL in a name', { ...GOOD, metadata: { 'a\0': 1 } }, 400, 'request.invalid', '/metadata/a'],
    ['half a surrogate pair', { ...GOOD, reference: '\ud800' }, 400, 'request.invalid', '/reference'],
    ['half a surrogate pair in a name', { ...GOOD, metadata: { '\udc00': 1 } }, 400, 'request.invalid'],
    ['a flood of values', { ...GOOD, metadata: { a: Array(2500).fill(0) } }, 400, 'request.invalid', ''],
  ])('%s', async (_, body, status, code, pointer) => {
    await calls.post({ status, code, pointer }, '/api/v1/sign/digest', { body });
  });

  it.each([
    ['__proto__', withMember('"__proto__":{"isAdmin":true}'), '/__proto__'],
    ['__proto__ further down', withMember('"metadata":{"a":[{"__proto__":1}]}'), '/metadata/a/0/__proto__'],
    ['constructor', withMember('"constructor":{"prototype":{}}'), '/constructor'],
    ['a number that is none', withMember('"metadata":{"a":1e400}'), '/metadata/a'],
    ['an integer that a double changes', withMember('"metadata":{"a":[9007199254740993]}'), '/metadata/a/0'],
    ['an integer beyond 2^53−1 below zero', withMember('"metadata":{"a":-9007199254740992}'), '/metadata/a'],
    ['two digests', withMember(`"digest":"${digestOf('other')}"`), '/digest'],
    ['a member twice further down', withMember('"metadata":{"a":[{"b":1,"b":1}]}'), '/metadata/a/0/b'],
    ['a depth bomb in the metadata', withMember(`"metadata":${nested(40)}`), ''],
    ['a depth bomb of 10,000 levels', withMember(`"metadata":${nested(10_000)}`), ''],
  ])('with invalid JSON: %s', async (_, body, pointer) => {
    await calls.post({ status: 400, code: 'request.invalid', pointer }, '/api/v1/sign/digest', { body });
  });
});

describe('a body without content is treated as empty', () => {
  const send = (type: string, body?: ReadableStream) =>
    fetch(`${service.url}/api/v1/sign/digest`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': type },
      ...(body === undefined ? {} : { body, duplex: 'half' as const }),
    });
  const nothing = () => new ReadableStream({ start: (stream) => stream.close() });

  it.each(['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x', 'application/json'])(
    'with any content type: %s',
    async (type) => {
      for (const answer of [await send(type), await send(type, nothing())]) {
        const { code, errors } = (await answer.json()) as { code: string; errors: object[] };
        expect({ status: answer.status, code, errors }).toMatchObject({
          status: 400,
          code: 'request.invalid',
          errors: expect.arrayContaining([expect.objectContaining({ pointer: '/digest' })]),
        });
      }
    },
  );
});

describe('a body is rejected', () => {
  const raw = (type: string) => ({ headers: { 'content-type': type } });

  it.each<[string, CallOptions, number, string]>([
    ['no JSON', { body: '{"digest":' }, 400, 'request.malformed'],
    ['JSON with a comment', { body: `{/**/"digest":"${GOOD.digest}"}` }, 400, 'request.malformed'],
    ['a raw NUL byte', { body: `{"digest":"${GOOD.digest}\0"}` }, 400, 'request.malformed'],
    ['empty', { body: '' }, 400, 'request.invalid'],
    ['blank', { body: ' ' }, 400, 'request.malformed'],
    ['absent', {}, 400, 'request.invalid'],
    ['the value null', { body: 'null' }, 400, 'request.invalid'],
    ['a number', { body: '5' }, 400, 'request.invalid'],
    ['a string', { body: '"digest"' }, 400, 'request.invalid'],
    ['a list', { body: [GOOD] }, 400, 'request.invalid'],
    ['invalid UTF-8', { body: Buffer.from(withMember('"reference":"\xff\xfe"'), 'latin1') }, 400, 'request.malformed'],
    ['UTF-16', { body: Buffer.from(JSON.stringify(GOOD), 'utf16le') }, 400, 'request.malformed'],
    ['2 MB', { body: { ...GOOD, reference: 'x'.repeat(2 * 1024 * 1024) } }, 413, 'request.too-large'],
    ['2 MB of another type', { body: 'x'.repeat(2 * 1024 * 1024), ...raw('text/plain') }, 415, 'request.media-type'],
    ['a form', { body: 'digest=abc', ...raw('application/x-www-form-urlencoded') }, 415, 'request.media-type'],
    ['plain text', { body: JSON.stringify(GOOD), ...raw('text/plain') }, 415, 'request.media-type'],
    [
      'said to be gzip',
      { body: JSON.stringify(GOOD), headers: { 'content-encoding': 'gzip' } },
      415,
      'request.media-type',
    ],
    ['of a type that is none', { body: JSON.stringify(GOOD), ...raw('json') }, 415, 'request.media-type'],
    ['compressed', { body: gzipSync(JSON.stringify(GOOD)) }, 400, 'request.malformed'],
  ])('%s', async (_, options, status, code) => {
    await calls.post({ status, code }, '/api/v1/sign/digest', options);
  });

  it.each([
    ['a blank', 'two words'],
    ['too long', 'k'.repeat(256)],
    ['empty', ''],
  ])('with an Idempotency-Key that is %s', async (_, key) => {
    await calls.post({ status: 400, code: 'idempotency.key' }, '/api/v1/sign/digest', {
      body: GOOD,
      headers: { 'idempotency-key': key },
    });
  });

  it('with a query where none is allowed', async () => {
    await calls.post({ status: 400, code: 'request.invalid', pointer: 'async' }, '/api/v1/sign/digest?async=true', {
      body: GOOD,
    });
  });
});
