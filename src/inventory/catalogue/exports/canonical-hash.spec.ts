import { describe, expect, it } from 'vitest';
import { JsonObjectText } from '../../../verifier/json-object-text.js';
import { SignedText } from '../../../verifier/json-signature.js';
import { CanonicalHash } from './canonical-hash.js';

const FACTS = { algorithm: 'ES256', keyId: 'release', publicKey: { kty: 'EC' } };
const HEAD = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { timestamp: '2026-01-01T00:00:00Z' },
};

/** Returns the document as an export sends it. */
function documentOf(components: readonly string[], dependencies: readonly string[]): Buffer {
  const list = (items: readonly string[]) => `[\n${items.join('\n,')}\n]`;
  return Buffer.from(
    `${JSON.stringify(HEAD).slice(0, -1)},"components":${list(components)},"dependencies":${list(dependencies)}}`,
  );
}

const linesOf = (items: readonly string[]) => Buffer.from(items.map((item) => `,${item}\n`).join(''));

function hashed(lists: Record<string, readonly string[]>, size: number): Buffer {
  const hash = new CanonicalHash('sha256', { ...HEAD, signature: FACTS }, Object.keys(lists));
  for (const [name, items] of Object.entries(lists)) {
    hash.list(name);
    const lines = linesOf(items);
    for (let at = 0; at < lines.length; at += size) hash.lines(lines.subarray(at, at + size));
  }
  return hash.digest();
}

describe('the hash of a line-by-line export', () => {
  const components = [
    '{"type":"library","bom-ref":"b","name":"ß “é” \\n \\u007f"}',
    '{"name":"x","bom-ref":"a","n":[1.0,-0,1e21]}',
  ];
  const dependencies = ['{"ref":"b","dependsOn":["a"]}'];

  it.each([1, 7, 64, 100_000])('equals that of the whole document, in chunks of %i bytes', (size) => {
    const whole = new SignedText(new JsonObjectText(documentOf(components, dependencies)), FACTS, 'sha256').digest;
    expect(hashed({ components, dependencies }, size)).toEqual(whole);
  });

  it('equals that of the whole document when a list is empty', () => {
    const whole = new SignedText(new JsonObjectText(documentOf([], [])), FACTS, 'sha256').digest;
    expect(hashed({ components: [], dependencies: [] }, 10)).toEqual(whole);
  });

  it('fails for an incomplete document', () => {
    const hash = new CanonicalHash('sha256', HEAD, ['components', 'dependencies']);
    expect(() => hash.list('dependencies')).toThrow('components');
    hash.list('components');
    hash.lines(Buffer.from(',{"a":1'));
    expect(() => hash.digest()).toThrow('is incomplete');
  });
});
