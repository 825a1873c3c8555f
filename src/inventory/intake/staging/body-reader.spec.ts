import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { gzipSync } from 'node:zlib';
import { MAX_REJECTED, MAX_REMARKS } from '../../model/document-remarks.js';
import { contentDigest, readBody } from './body-reader.js';

const BOM = '{"bomFormat":"CycloneDX","specVersion":"1.6","components":[]}';
const read = (bytes: Buffer, kind: 'any' | 'json') =>
  readBody(bytes, { kind, mode: 'repair', source: undefined, password: undefined });

describe('an unsupported file', () => {
  it.each([
    ['a compressed document', gzipSync(BOM), 'is compressed'],
    ['a ZIP archive', Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(60)]), 'is a ZIP archive'],
    ['CycloneDX in XML', Buffer.from('<?xml version="1.0"?>\n<bom/>'), 'send CycloneDX as JSON'],
    ['CycloneDX in XML without a declaration', Buffer.from('<bom xmlns="x"/>'), 'send CycloneDX as JSON'],
    [
      'CycloneDX in XML with a byte order mark',
      Buffer.from('\uFEFF<?xml version="1.0"?><bom/>'),
      'send CycloneDX as JSON',
    ],
    ['the database of NSS', Buffer.from('SQLite format 3\0'), 'such as the cert9.db'],
    ['testssl.sh', Buffer.from('[{"id":"SSLv3","severity":"OK","finding":"not offered"}]'), 'result of testssl.sh'],
    ['SSLyze', Buffer.from('{"server_scan_results":[],"sslyze_version":"6.0.0"}'), 'result of SSLyze'],
    ['sslscan', Buffer.from('<?xml version="1.0"?><document title="SSLScan Results">'), 'result of sslscan'],
    ['SPDX 2', Buffer.from('{"spdxVersion":"SPDX-2.3"}'), 'is SPDX'],
    ['SPDX 3', Buffer.from('{"@context":"https://spdx.org/rdf/3.0.1/spdx-context.jsonld"}'), 'SPDX 3'],
    ['a JSON Web Key', Buffer.from('{"kty":"EC"}'), 'JSON Web Key'],
    ['a set of them', Buffer.from('{"keys":[]}'), 'JSON Web Key Set'],
    ['JSON of another kind', Buffer.from('{"results":[]}'), 'is not CycloneDX JSON'],
    ['a list', Buffer.from('[]'), 'is not CycloneDX JSON'],
    [
      'a document with two lists of components',
      Buffer.from(BOM.replace('"components"', '"components":[],"components"')),
      'has the member "components" twice',
    ],
  ])('is rejected with a description of its kind: %s', (_, bytes, words) => {
    for (const kind of ['any', 'json'] as const) expect(() => read(bytes, kind)).toThrow(words);
  });
});

describe('a body with invalid items', () => {
  const scanOf = (items: number) => Buffer.from(`{"assets":[${Array.from({ length: items }, () => 0).join(',')}]}`);
  const pemOf = (blocks: number) =>
    Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'.repeat(blocks));

  it.each([
    ['a scan', scanOf, 'json'],
    ['certificates', pemOf, 'any'],
  ] as const)('lists each rejected item, and is rejected as a whole above MAX_REJECTED: %s', (_, bodyOf, kind) => {
    expect(read(bodyOf(MAX_REJECTED), kind)[0]?.draft().rejected).toHaveLength(MAX_REJECTED);
    expect(() => read(bodyOf(MAX_REJECTED + 1), kind)).toThrow(/more than 10000 of its items are invalid/);
  });

  it('lists at most MAX_REMARKS repairs', () => {
    const certificate = { assetType: 'certificate', certificateProperties: { notValidBefore: '2026-01-01' } };
    const component = { type: 'cryptographic-asset', name: 'c', cryptoProperties: certificate };
    const assets = Array.from({ length: MAX_REMARKS + 1 }, () => ({ component }));
    expect(read(Buffer.from(JSON.stringify({ assets })), 'json')[0]?.draft().repairs).toHaveLength(MAX_REMARKS);
  });
});

const digestOf = (text: string) => contentDigest(Buffer.from(text)).toString('hex');
const plain = (text: string) => createHash('sha256').update(text).digest('hex');
const scan = (id: string, assets = '[]') => `{"scanId":${id},"source":"host a","complete":true,"assets":${assets}}`;

describe('the content digest of a body', () => {
  it('is the same for scans that differ only in their scan ID', () => {
    expect(digestOf(scan('"one"'))).toBe(digestOf(scan('"another, with \\"quotes\\" and }"')));
  });

  it('differs as soon as anything else differs', () => {
    expect(digestOf(scan('"one"'))).not.toBe(digestOf(scan('"one"', '[1]')));
    expect(digestOf(scan('"one"').replace('host a', 'host b'))).not.toBe(digestOf(scan('"one"')));
  });

  it.each([
    ['a scan without an id', '{"source":"host a","assets":[]}'],
    ['a CycloneDX document that has such a member', '{"bomFormat":"CycloneDX","scanId":"1","assets":[]}'],
    ['a document that has the word in a text', '{"note":"\\"scanId\\"","assets":[]}'],
    ['another document', '{"scanId":"1","runs":[]}'],
  ])('covers all bytes of %s', (_, text) => {
    expect(digestOf(text)).toBe(plain(text));
  });
});

it.each([
  ['{"bomFormat": "CycloneDX",\n "version": NaN}', /line 2, column 13: expected a value/],
  ['{"bomFormat": "CycloneDX",\n "components": [],\n}', /line 3, column 1: trailing commas are not allowed/],
  ['{"runs": []}\n\n}', /line 3, column 1: unexpected text after the JSON value/],
  ['{"runs": []}\u0000', /line 1, column 13: unexpected text after the JSON value/],
])('invalid JSON is reported with its position: %j', (text, words) => {
  const options = { kind: 'json', mode: 'repair', source: undefined, password: undefined } as const;
  expect(() => readBody(Buffer.from(text), options)).toThrow(words);
  expect(() => readBody(Buffer.from(`{"a": 1}\n${text}`), { ...options, kind: 'ndjson' })).toThrow(
    /not valid JSON: line 1/,
  );
});
