import { describe, expect, it } from 'vitest';
import type { Remark } from '../ingest/ingest-outcome.js';
import { type Bom, connected } from './connected-components.js';

const library = (ref: string) => ({ type: 'library', name: ref, 'bom-ref': ref });
const algorithm = (ref?: string) => ({ type: 'cryptographic-asset', name: 'AES', 'bom-ref': ref });

function read(bom: Omit<Bom, 'specVersion'>) {
  const warnings: Remark[] = [];
  const { assets, ignored } = connected({ specVersion: '1.6', ...bom }, warnings);
  const all = [...assets];
  const refs = all.map(({ ref }) => ref);
  const edges = all
    .flatMap(({ ref, links }) => links.map(({ to, kind }) => ({ ref, kind, to })))
    .filter(({ to }) => refs.includes(to))
    .map(({ ref, kind, to }) => `${ref} ${kind} ${to}`);
  return { refs, edges, ignored, warnings: warnings.map(({ detail }) => detail) };
}

describe('what of a document becomes an asset', () => {
  it('is what is cryptographic, and what uses it', () => {
    const components = [library('near'), library('idle'), algorithm('aes')];
    const dependencies = [{ ref: 'near', dependsOn: ['gone', 'idle'], provides: ['aes', 'aes'] }];
    expect(read({ components, dependencies })).toEqual({
      refs: ['near', 'aes'],
      edges: ['near provides aes'],
      ignored: 1,
      warnings: ['1 references lead to nothing in the document'],
    });
  });

  it('is what leads there by however many steps, even by one that is no component', () => {
    const components = [library('far'), library('near'), library('user'), algorithm('aes')];
    const dependencies = [
      { ref: 'user', dependsOn: ['far'] },
      { ref: 'far', dependsOn: ['service'] },
      { ref: 'service', dependsOn: ['near'] },
      { ref: 'near', dependsOn: ['far'], provides: ['aes'] },
    ];
    const { refs, warnings } = read({ components, dependencies });
    expect(refs).toEqual(['far', 'near', 'user', 'aes']);
    expect(warnings).toEqual(['2 references lead to nothing in the document']);
  });

  it('may lack a bom-ref, and lead somewhere all the same', () => {
    const key = {
      type: 'cryptographic-asset',
      name: 'key',
      cryptoProperties: { assetType: 'certificate', certificateProperties: { signatureAlgorithmRef: 'aes' } },
    };
    expect(read({ components: [algorithm('aes'), key] })).toEqual({
      refs: ['aes', ' 1'],
      edges: [' 1 signatureAlgorithm aes'],
      ignored: 0,
      warnings: [],
    });
  });

  it('is found at every depth, with its places apart', () => {
    const evidence = { occurrences: [{ location: 'a.c', line: 1 }] };
    const inner = { ...algorithm('inner'), evidence };
    const components = [{ ...library('outer'), components: [inner] }];
    const { assets, ignored } = connected({ specVersion: '1.6', components }, []);
    expect(ignored).toBe(1);
    expect([...assets]).toEqual([
      {
        ref: 'inner',
        kind: 'algorithm',
        component: { type: 'cryptographic-asset', name: 'AES' },
        occurrences: [{ location: 'a.c', line: 1, position: null, symbol: null, context: null }],
        links: [],
      },
    ]);
  });
});
