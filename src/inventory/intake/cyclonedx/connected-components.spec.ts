import { describe, expect, it } from 'vitest';
import type { CdxComponent, DraftAsset } from '../../model/document.js';
import { DraftRefs, addLink } from '../../model/draft-refs.js';
import { assetsOfBom, type BomParts, type Dependency, type Tally } from './connected-components.js';

const library = (ref: string) => ({ type: 'library', name: ref, 'bom-ref': ref });
const algorithm = (ref?: string) => ({ type: 'cryptographic-asset', name: 'AES', 'bom-ref': ref });

interface Document {
  readonly components: CdxComponent[];
  readonly dependencies?: Dependency[];
}

function partsOf({ components, dependencies = [] }: Document): BomParts {
  return { described: undefined, isNew: false, components: () => components, dependencies: () => dependencies };
}

function read(document: Document) {
  const refs = new DraftRefs();
  const tally: Tally = { received: 0, ignored: 0, warnings: [] };
  const all: DraftAsset[] = [];
  for (const asset of assetsOfBom(partsOf(document), refs, tally)) {
    all.push(asset);
    // As in DocumentAssets, links declared in the asset itself are added immediately.
    for (const { to, kind } of asset.links) addLink(refs.of(asset.ref), refs.linkTo(to, kind));
  }
  const names = all.map(({ ref }) => ref);
  const edges = names
    .flatMap((ref) => refs.of(ref).links.map(({ to, kind }) => ({ ref, kind, to: to.name })))
    .filter(({ to }) => names.includes(to))
    .map(({ ref, kind, to }) => `${ref} ${kind} ${to}`);
  return { refs: names, edges, ignored: tally.ignored, warnings: tally.warnings.map(({ detail }) => detail) };
}

describe('the assets of a document', () => {
  it('are its cryptographic components and the components that use them', () => {
    const components = [library('near'), library('idle'), algorithm('aes')];
    const dependencies = [{ ref: 'near', dependsOn: ['gone', 'idle'], provides: ['aes', 'aes'] }];
    expect(read({ components, dependencies })).toEqual({
      refs: ['aes', 'near'],
      edges: ['near provides aes'],
      ignored: 1,
      warnings: ['1 references have no target in the document'],
    });
  });

  it('include users over any number of steps, even through a ref that is not a component', () => {
    const components = [library('far'), library('near'), library('user'), algorithm('aes')];
    const dependencies = [
      { ref: 'user', dependsOn: ['far'] },
      { ref: 'far', dependsOn: ['service'] },
      { ref: 'service', dependsOn: ['near'] },
      { ref: 'near', dependsOn: ['far'], provides: ['aes'] },
    ];
    const { refs, warnings } = read({ components, dependencies });
    expect(refs).toEqual(['aes', 'far', 'near', 'user']);
    expect(warnings).toEqual(['2 references have no target in the document']);
  });

  it('may lack a bom-ref and still be linked', () => {
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

  it('are found at every depth, with their locations', () => {
    const evidence = { occurrences: [{ location: 'a.c', line: 1 }] };
    const inner = { ...algorithm('inner'), evidence };
    const components = [{ ...library('outer'), components: [inner] }];
    const tally: Tally = { received: 0, ignored: 0, warnings: [] };
    const assets = [...assetsOfBom(partsOf({ components }), new DraftRefs(), tally)];
    expect(tally.ignored).toBe(1);
    expect(assets).toEqual([
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
