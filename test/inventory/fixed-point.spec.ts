import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { asVersion17 } from '../../src/inventory/intake/cyclonedx/version-17.js';
import { componentOf } from '../../src/inventory/intake/staging/asset-rows.js';
import { DocumentAssets } from '../../src/inventory/intake/staging/document-assets.js';
import type { CdxComponent, Draft } from '../../src/inventory/model/document.js';
import { DraftRefs } from '../../src/inventory/model/draft-refs.js';
import { readBody } from '../../src/inventory/intake/staging/body-reader.js';
import { Problem } from '../../src/platform/errors/problem.js';
import { officialCheck } from '../support/cyclonedx-schema.js';
import { corpusFile, corpusFiles, hasCorpus } from './corpus.js';
import { shuffled } from './documents.js';

interface Exported {
  readonly components: CdxComponent[];
  readonly dependencies: { ref: string; dependsOn?: string[]; provides?: string[] }[];
}

const SOURCE = { id: '00000000-0000-8000-8000-000000000000', name: 'test' };
const VERSIONS = ['1.6', '1.7'] as const;
type Version = (typeof VERSIONS)[number];

/** Returns the export of an inventory that contains only this document, or undefined if the document is refused. */
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

/** Returns the occurrences of each asset, deduplicated and in a fixed order. */
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

const checks = { '1.6': officialCheck('1.6'), '1.7': officialCheck('1.7') };
/** Maximum number of components to validate, because validation time is quadratic in the number of components. */
const MAX_CHECKED = 2000;

/** Returns the properties that the document does not satisfy, and whether the document was accepted. */
function faultsOf(path: string): { isTaken: boolean; faults: string[] } {
  const faults: string[] = [];
  const claim = (what: string, holds: boolean) => void (holds ? undefined : faults.push(`${path}: ${what}`));
  for (const [version, other] of [VERSIONS, VERSIONS.toReversed()] as [Version, Version][]) {
    const first = exportOf(corpusFile(path), version);
    if (first === undefined || first.components.length === 0) return { isTaken: false, faults };
    const document = { ...HEAD, specVersion: version, ...first };
    claim(`valid ${version}`, first.components.length > MAX_CHECKED || checks[version](document));
    claim(`fixed ${version}`, isDeepStrictEqual(exportOf(bytesOf(version, first), version), first));
    const mixed = exportOf(bytesOf(version, shuffled(first, path)), version);
    claim(`order ${version}`, isDeepStrictEqual(mixed?.dependencies, first.dependencies));
    const across = exportOf(bytesOf(version, first), other);
    claim(`${version} to ${other}`, isDeepStrictEqual(across, exportOf(corpusFile(path), other)));
  }
  return { isTaken: true, faults };
}

describe.skipIf(!hasCorpus)('import, export and import', () => {
  const files = ['cbom', 'cbom/sbom', 'spec-1.6/resources'].flatMap((folder) => corpusFiles(folder));

  it('reach a fixed point in each version and between versions, for any member order', () => {
    const found = files.map(faultsOf);
    expect(found.flatMap(({ faults }) => faults)).toEqual([]);
    expect(found.filter(({ isTaken }) => isTaken).length).toBeGreaterThan(15);
  });
});
