import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { contentDigest } from './content-digest.js';

const of = (text: string) => contentDigest(Buffer.from(text)).toString('hex');
const plain = (text: string) => createHash('sha256').update(text).digest('hex');
const scan = (id: string, assets = '[]') => `{"scanId":${id},"source":"host a","complete":true,"assets":${assets}}`;

describe('the digest of what a body says', () => {
  it('is the same for scans that differ in their id alone', () => {
    expect(of(scan('"one"'))).toBe(of(scan('"another, with \\"quotes\\" and }"')));
  });

  it('is another as soon as anything else differs', () => {
    expect(of(scan('"one"'))).not.toBe(of(scan('"one"', '[1]')));
    expect(of(scan('"one"').replace('host a', 'host b'))).not.toBe(of(scan('"one"')));
  });

  it.each([
    ['a scan without an id', '{"source":"host a","assets":[]}'],
    ['a CycloneDX document that has such a member', '{"bomFormat":"CycloneDX","scanId":"1","assets":[]}'],
    ['a document that has the word in a text', '{"note":"\\"scanId\\"","assets":[]}'],
    ['another document', '{"scanId":"1","runs":[]}'],
  ])('is that of all bytes for %s', (_, text) => {
    expect(of(text)).toBe(plain(text));
  });
});
