import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { asVersion17 } from '../../src/inventory/cyclonedx/version-17.js';
import { componentOf } from '../../src/inventory/ingest/asset-rows.js';
import { DocumentAssets } from '../../src/inventory/ingest/document-assets.js';
import type { CdxComponent, Draft } from '../../src/inventory/model/document.js';
import { DraftRefs } from '../../src/inventory/model/draft-refs.js';
import { readBody } from '../../src/inventory/readers/body-reader.js';
import { Problem } from '../../src/platform/errors/problem.js';
import { officialCheck } from '../support/cyclonedx-schema.js';
import { corpusFile, corpusFiles, hasCorpus } from './corpus.js';

interface Exported {
  readonly components: CdxComponent[];
  readonly dependencies: { ref: string; dependsOn?: string[]; provides?: string[] }[];
}

const SOURCE = { id: '00000000-0000-8000-8000-000000000000', name: 'test' };
const VERSIONS = ['1.6', '1.7'] as const;
type Version = (typeof VERSIONS)[number];

/** What the inventory would export of a document, had it this one alone; undefined for one that is refused. */
function exportOf(bytes: Buffer, version: Version): Exported | undefined {
  const assets = assetsOf(bytes);
  if (assets === undefined) return undefined;
  const places = placesOf(bytes, assets);
  const components = assets.all().map((asset) => {
    const occurrences = places.get(asset.id);
    const evidence = occurrences === undefined ? {} : { evidence: { occurrences } };
    const component = { 'bom-ref': asset.id, ...evidence, ...(JSON.parse(componentOf(asset)) as CdxComponent) };
    return version === '1.7' ? asVersion17(component) : component;
  });
  const dependencies = assets.all().map(({ id: ref, edges }) => {
    const to = (wanted: string) => edges.filter(({ kind }) => kind === wanted).map(({ to: { id } }) => id);
    const [dependsOn, provides] = [to('dependsOn'), to('provides')];
    return {
      ref,
      ...(dependsOn.length === 0 ? {} : { dependsOn }),
      ...(provides.length === 0 ? {} : { provides }),
    };
  });
  return { components, dependencies };
}

function assetsOf(bytes: Buffer): DocumentAssets | undefined {
  try {
    const [read] = readBody(bytes, { kind: 'json', mode: 'repair', source: undefined, password: undefined });
    if (read === undefined) return undefined;
    const assets = new DocumentAssets(read.draft(), SOURCE);
    assets.all();
    return assets;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** The places of each asset, each once and in one order. */
function placesOf(bytes: Buffer, assets: DocumentAssets): ReadonlyMap<string, object[]> {
  const all = new Map<string, Map<string, object>>();
  for (const { ref, occurrences } of readAgain(bytes).assets(new DraftRefs()))
    for (const { location, line, position, symbol, context } of occurrences) {
      if (location === '') continue;
      const place = {
        location,
        ...(line === null ? {} : { line }),
        ...(position === null ? {} : { offset: position }),
        ...(symbol === null ? {} : { symbol }),
        ...(context === null ? {} : { additionalContext: context }),
      };
      const id = assets.idOf(ref) ?? '';
      all.set(id, (all.get(id) ?? new Map()).set(JSON.stringify(place), place));
    }
  return new Map(
    [...all].map(([id, places]) => [id, [...places].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place)]),
  );
}

function readAgain(bytes: Buffer): Draft {
  const [read] = readBody(bytes, { kind: 'json', mode: 'repair', source: undefined, password: undefined });
  if (read === undefined) throw new Error('no document');
  return read.draft();
}

const HEAD = { bomFormat: 'CycloneDX', version: 1 };
const bytesOf = (specVersion: Version, lists: object) =>
  Buffer.from(JSON.stringify({ ...HEAD, specVersion, ...lists }));

/** The same value with its members, and the items of its lists, in another order; the same one for the same seed. */
function shuffled<Value>(value: Value, seed: string): Value {
  const by = (key: string) => createHash('sha256').update(`${seed}${key}`).digest('hex');
  const order = <Item>(items: readonly Item[]) =>
    items.map((item) => ({ item, key: by(JSON.stringify(item)) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  if (Array.isArray(value)) return order(value).map(({ item }) => shuffled(item, seed)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    order(Object.entries(value)).map(({ item: [name, member] }) => [name, shuffled(member, seed)]),
  ) as Value;
}

describe.skipIf(!hasCorpus)('import, export and import', () => {
  const files = ['cbom', 'cbom/sbom', 'spec-1.6/resources'].flatMap((folder) => corpusFiles(folder));

  it.each(VERSIONS)('are a fixed point in version %s, also of documents whose members are shuffled', (version) => {
    const check = officialCheck(version);
    const taken = files.filter((path) => {
      const first = exportOf(corpusFile(path), version);
      if (first === undefined || first.components.length === 0) return false;
      const document = { ...HEAD, specVersion: version, ...first };
      if (first.components.length < 2000) {
        check(document);
        expect(check.errors ?? [], path).toEqual([]);
      }
      expect(exportOf(bytesOf(version, first), version), path).toEqual(first);
      const mixed = exportOf(bytesOf(version, shuffled(first, path)), version);
      expect(idsIn(mixed), path).toEqual(idsIn(first));
      expect(mixed?.dependencies, path).toEqual(first.dependencies);
      return true;
    });
    expect(taken.length).toBeGreaterThan(15);
  });

  it('give the same assets through 1.6 as through 1.7', () => {
    for (const path of files) {
      const by16 = exportOf(corpusFile(path), '1.6');
      const by17 = exportOf(corpusFile(path), '1.7');
      if (by16 === undefined || by17 === undefined) continue;
      expect(exportOf(bytesOf('1.7', by17), '1.6'), path).toEqual(by16);
      expect(exportOf(bytesOf('1.6', by16), '1.7'), path).toEqual(by17);
    }
  });
});

function idsIn(exported: Exported | undefined): unknown[] | undefined {
  return exported?.components.map((component) => component['bom-ref']);
}
