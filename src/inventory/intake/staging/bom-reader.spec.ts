import { describe, expect, it } from 'vitest';
import { Problem } from '../../../platform/errors/problem.js';
import { readBody } from './body-reader.js';
import { DraftRefs } from '../../model/draft-refs.js';
import type { Mode } from '../cyclonedx/bom-lists.js';

interface Component {
  readonly [member: string]: unknown;
  readonly 'bom-ref'?: string;
}

const MANY = 3000;
const key = (index: number): Component => ({
  type: 'cryptographic-asset',
  'bom-ref': `key ${index}`,
  name: `key ${index}`,
  cryptoProperties: {
    assetType: 'related-crypto-material',
    relatedCryptoMaterialProperties: { type: 'public-key', id: `the id of a key: ${index}`, algorithmRef: 'aes' },
  },
});
const keys = () => Array.from({ length: MANY }, (_, index) => key(index));
const uses = () => keys().map((one) => ({ ref: one['bom-ref'], dependsOn: ['aes'] }));

/** Returns a document that is long enough to be parsed in many parts. If `isWhole`, escapes in a member name force the reader to parse the whole document. */
function textOf(components: unknown[], dependencies: unknown[], isWhole: boolean): string {
  const head = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 };
  const text = JSON.stringify({
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    ...head,
    components,
    dependencies,
  });
  return isWhole ? text.replace('$', String.raw`\u0024`) : text;
}

function read(text: string, mode: Mode) {
  try {
    const [document] = readBody(Buffer.from(text), { kind: 'json', mode, source: undefined, password: undefined });
    if (document === undefined) throw new Error('no document');
    const draft = document.draft();
    const refs = new DraftRefs();
    const assets = [...draft.assets(refs)];
    const links = [...refs.values()].flatMap(({ name, links: own }) =>
      own.map(({ kind, to }) => `${name} ${kind} ${to.name}`),
    );
    const { received, ignored, repairs, warnings } = draft;
    return { assets, links, received, ignored, repairs, warnings };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { code: error.code, errors: error.errors, message: error.message };
  }
}

/** Returns the outcome, and asserts that it is the same whether the document is parsed in parts or as a whole. */
function outcome(components: unknown[], dependencies: unknown[], mode: Mode = 'repair') {
  const inParts = read(textOf(components, dependencies, false), mode);
  expect(read(textOf(components, dependencies, true), mode)).toEqual(inParts);
  return inParts;
}

describe('a long document parsed in parts', () => {
  it('yields the same result as one parsed as a whole', () => {
    const { assets, links, received } = outcome(keys(), uses());
    expect(assets?.map(({ ref }) => ref)).toEqual(keys().map((one) => one['bom-ref']));
    expect(links).toHaveLength(MANY);
    expect(received).toBe(MANY);
  });

  it('may repeat items at any distance: they are removed, or rejected with pointers', () => {
    const components = keys().with(2700, key(3));
    const dependencies = uses().with(2800, uses()[5] ?? { ref: '', dependsOn: [] });
    const { assets, repairs, warnings } = outcome(components, dependencies);
    expect(assets).toHaveLength(MANY - 1);
    expect(repairs?.map(({ pointer }) => pointer)).toEqual(['/components/2700', '/dependencies/2800']);
    expect(warnings?.map(({ code }) => code)).not.toContain('bom-ref.repeated');
    const { code, errors } = outcome(components, dependencies, 'strict');
    expect(code).toBe('document.invalid');
    expect(errors?.map(({ pointer }) => pointer)).toEqual(['/components/2700', '/dependencies/2800']);
  });

  it('may contain different items of the same name, and both are read', () => {
    const other = { ...key(2700), 'bom-ref': 'key 3' };
    const { assets, repairs, warnings } = outcome(keys().with(2700, other), []);
    expect(assets).toHaveLength(MANY);
    expect(repairs).toEqual([]);
    expect(warnings?.map(({ code }) => code)).toContain('bom-ref.repeated');
  });

  it('may contain duplicates in nested lists, which are removed', () => {
    const twice = { ref: 'key 7', dependsOn: ['aes', 'key 8', 'aes'] };
    // After the repair, the item is a duplicate of an earlier item.
    const again = { ref: 'key 7', dependsOn: ['aes', 'key 8'] };
    const { links, repairs } = outcome(keys(), uses().with(7, twice).with(2900, again));
    expect(links?.filter((link) => link.startsWith('key 7 '))).toEqual([
      'key 7 dependsOn aes',
      'key 7 dependsOn key 8',
    ]);
    expect(repairs?.map(({ pointer }) => pointer)).toEqual(['/dependencies/7/dependsOn/2', '/dependencies/2900']);
  });

  it('is rejected with a pointer to each fault, including faults outside its lists', () => {
    const components = keys().with(1, { type: 'nothing', name: 'a' }).with(2999, { type: 'data' });
    const dependencies = uses().with(2500, { ref: 'a', dependsOn: ['b'], more: true } as never);
    const { code, errors } = outcome(components, dependencies);
    expect(code).toBe('document.invalid');
    expect(errors?.map(({ pointer }) => pointer)).toEqual([
      '/components/1/type',
      '/components/2999',
      '/dependencies/2500/more',
    ]);
    const text = textOf(components, dependencies, false).replace('"version":1', '"version":0');
    expect(read(text, 'repair').errors?.map(({ pointer }) => pointer)).toEqual([
      '/version',
      ...(errors ?? []).map(({ pointer }) => pointer),
    ]);
  });

  it.each([
    ['a comma too many at its end', (text: string) => text.replace('],"dependencies"', ',],"dependencies"')],
    [
      'a comma too many within',
      (text: string) => text.replace('{"type":"cryptographic-asset","bom-ref":"key 2000"', ',$&'),
    ],
    ['another bracket at its end', (text: string) => text.replace('],"dependencies"', '},"dependencies"')],
    ['an item that does not end', (text: string) => text.replace('"name":"key 2000",', '"name":{"key 2000",')],
    ['bytes behind it', (text: string) => `${text}]`],
  ])('is not valid JSON with %s', (_, spoil) => {
    const text = spoil(textOf(keys(), uses(), false));
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(read(text, 'repair').code).toBe('request.malformed');
  });

  it('is rejected with a pointer to text that cannot be stored', () => {
    const { code, errors } = outcome(keys().with(2000, { ...key(2000), name: 'a\u0000b' }), uses());
    expect([code, errors?.[0]?.pointer]).toEqual(['document.invalid', '/components/2000/name']);
  });
});

describe('a duplicate member name in an object', () => {
  const components = Array.from({ length: 500 }, (_, index) => ({
    type: 'library',
    'bom-ref': `library ${index}`,
    name: `library ${index}`,
  }));
  const bom = (at: number) => {
    const text = JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components });
    return text.replace(`"name":"library ${at}"`, `"name":"another","name":"library ${at}"`);
  };

  it.each([0, 250, 499])('is rejected in strict mode with its position, in component %i', (at) => {
    expect(read(bom(at), 'strict')).toMatchObject({
      code: 'document.invalid',
      errors: [{ pointer: `/components/${at}/name`, detail: 'the object has the member "name" twice' }],
    });
  });

  it('is reported in repair mode, and the last value is used', () => {
    expect(read(bom(250), 'repair')).toMatchObject({
      repairs: [
        {
          pointer: '/components/250/name',
          code: 'name.repeated',
          detail: expect.stringContaining('the last value is used'),
        },
      ],
    });
  });

  it('is found in the document head, at any depth, and when written with escapes', () => {
    const head =
      '{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"metadata":{"properties":[{"name":"a","n\\u0061me":"b","value":"c"}]}}';
    expect(read(head, 'repair')).toMatchObject({ repairs: [{ pointer: '/metadata/properties/0/name' }] });
  });

  it('is not confused with text that contains colons and quotes', () => {
    const odd = JSON.stringify({
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      version: 1,
      components: [
        { type: 'library', name: '"name":"x"', description: ':::{"a":1}', properties: [{ name: 'name', value: ':' }] },
      ],
    });
    expect(read(odd, 'repair')).toMatchObject({ repairs: [] });
  });
});
