import type { CdxComponent, CheckedDocument, DraftAsset, DraftLink } from '../ingest/draft.js';
import type { Remark } from '../ingest/ingest-outcome.js';
import { Problem } from '../../platform/http/problem.js';
import { withoutSecrets } from '../ingest/secrets.js';
import { bomCheck, SPEC_VERSIONS, type SpecVersion } from './bom-schemas.js';
import type { BomText } from './bom-text.js';
import { assetOf, linksOf } from './component-reader.js';
import { asVersion16 } from './downgrade.js';
import { isOldCbom, oldCbomAsVersion16 } from './old-cbom.js';
import { SchemaFaults } from './schema-faults.js';

export type Mode = 'strict' | 'repair';

interface Bom {
  specVersion: string;
  serialNumber?: string;
  version?: number;
  metadata?: { timestamp?: string; component?: CdxComponent; properties?: { name: string; value?: string }[] };
  components?: CdxComponent[];
  dependencies?: { ref: string; dependsOn?: string[]; provides?: string[] }[];
}

/**
 * Reads a CycloneDX document of version 1.4 to 1.7, or of the draft 1.4-cbom-1.0. Its lists are read when the draft is asked for:
 * what a known document says need not be read again.
 *
 * @throws Problem 422 `document.version`, or `document.invalid` with a pointer to each fault; so does the draft. Repeated list items and
 * an upper-case serial number are put right in repair mode, since nothing is lost by it; everything else is for the sender to mend.
 */
export function readBom(text: BomText, mode: Mode): CheckedDocument {
  const repairs: Remark[] = [];
  const outer = goodHead(text);
  const bom = outer ?? checked(text.whole(), mode, repairs);
  const head = {
    format: `CycloneDX ${bom.specVersion}`,
    serialNumber: bom.serialNumber ?? null,
    version: bom.version ?? (bom.serialNumber === undefined ? null : 1),
    time: bom.metadata?.timestamp ?? null,
    source: sourceOf(bom),
    whole: true,
  };
  const draft = () => {
    const warnings: Remark[] = [];
    const all = outer === undefined ? bom : checked(text.whole(), mode, repairs);
    const { assets, links, ignored } = connected([...componentsOf(all)], all, warnings);
    return { ...head, assets, links, received: assets.length, ignored, rejected: [], repairs, warnings };
  };
  return { ...head, said: text.said(bom), repairs: outer === undefined ? repairs : undefined, draft };
}

/** The document without its lists, when nothing is wrong with that. */
function goodHead(text: BomText): Bom | undefined {
  const head = text.head();
  const version = SPEC_VERSIONS.find((known) => known === head?.['specVersion']);
  if (head === undefined || version === undefined) return undefined;
  return judge(head, version).count === 0 ? (head as unknown as Bom) : undefined;
}

function checked(document: Record<string, unknown>, mode: Mode, repairs: Remark[]): Bom {
  if (isOldCbom(document)) return oldCbomAsVersion16(document) as unknown as Bom;
  const version = SPEC_VERSIONS.find((known) => known === document['specVersion']);
  if (version === undefined) {
    const detail = `must be one of ${SPEC_VERSIONS.join(', ')} or 1.4-cbom-1.0`;
    throw new Problem('refused', 'document.version', `This version of CycloneDX is not read: specVersion ${detail}.`, {
      errors: [{ pointer: '/specVersion', detail }],
    });
  }
  if (mode === 'repair') lowerSerialNumber(document, repairs);
  let found = judge(document, version);
  if (mode === 'repair' && found.duplicates.length > 0) {
    removeDuplicates(found, repairs);
    found = judge(document, version);
  }
  if (found.count > 0) refuse(found);
  return document as unknown as Bom;
}

function judge(document: unknown, version: SpecVersion): SchemaFaults {
  const found = new SchemaFaults();
  bomCheck(version)(document, found);
  return found;
}

function refuse(found: SchemaFaults): never {
  const repeated = found.duplicates.map(({ pointer }) => ({ pointer, detail: 'is in the list already' }));
  const errors = [...found.faults, ...repeated].slice(0, 100);
  const first = errors[0];
  const where = first === undefined ? '' : ` ${first.pointer}: ${first.detail}.`;
  throw new Problem(
    'refused',
    'document.invalid',
    `The document is not valid CycloneDX (${found.count} faults).${where}`,
    {
      errors,
    },
  );
}

function removeDuplicates(found: SchemaFaults, repairs: Remark[]): void {
  const lists = new Map<unknown[], Set<number>>();
  for (const { list, index, pointer } of found.duplicates) {
    const indexes = lists.get(list) ?? new Set();
    lists.set(list, indexes.add(index));
    if (repairs.length < 1000)
      repairs.push({ pointer, code: 'duplicate.removed', detail: 'the same item is in the list already' });
  }
  for (const [list, indexes] of lists) {
    const kept = list.filter((_, index) => !indexes.has(index));
    list.length = 0;
    for (const item of kept) list.push(item);
  }
}

function lowerSerialNumber(document: Record<string, unknown>, repairs: Remark[]): void {
  const serial = document['serialNumber'];
  if (typeof serial !== 'string' || !/^urn:uuid:[0-9a-f-]{36}$/i.test(serial) || serial === serial.toLowerCase())
    return;
  document['serialNumber'] = serial.toLowerCase();
  repairs.push({
    pointer: '/serialNumber',
    code: 'serial-number.lowered',
    detail: 'hexadecimal digits must be lower-case',
  });
}

/** Every component at every depth, the described one first. Without recursion: depth is the sender's choice. */
function* componentsOf(bom: Bom): Generator<CdxComponent> {
  const stack: CdxComponent[] = [];
  if (bom.metadata?.component !== undefined) stack.push(bom.metadata.component);
  for (const root of bom.components ?? []) {
    stack.push(root);
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      yield next;
      const nested = next['components'];
      if (Array.isArray(nested)) stack.push(...(nested as CdxComponent[]));
    }
  }
  yield* stack;
}

/** The cryptographic components and whatever leads to one: a library that uses nothing of the kind is only counted. */
function connected(all: CdxComponent[], { dependencies = [], specVersion }: Bom, warnings: Remark[]) {
  const seen = new Set<string>();
  const drafts = all.map((component, index) => ({ component, ref: uniqueRef(component, index, seen, warnings) }));
  const graph = new Map<string, DraftLink[]>();
  const links: DraftLink[] = [];
  for (const { ref, dependsOn, provides } of dependencies) {
    for (const to of distinct(dependsOn)) links.push({ from: ref, to, kind: 'dependsOn' });
    for (const to of distinct(provides)) links.push({ from: ref, to, kind: 'provides' });
  }
  for (const link of links) {
    const before = graph.get(link.to);
    if (before === undefined) graph.set(link.to, [link]);
    else before.push(link);
  }
  const wanted = leadingToCryptography(drafts, graph);
  const assets: DraftAsset[] = [];
  for (const { component, ref } of drafts)
    if (wanted.has(ref)) assets.push(assetOf(isWithin16(specVersion) ? component : asVersion16(component), ref));
  for (const asset of assets) for (const link of linksOf(asset)) links.push(link);
  warnOfDangling(links, seen, warnings);
  const good = links.filter(({ from, to }) => wanted.has(from) && wanted.has(to));
  return { assets, links: good, ignored: drafts.length - assets.length };
}

/** Most have one target or none. */
function distinct(refs: readonly string[] = []): Iterable<string> {
  return refs.length < 2 ? refs : new Set(refs);
}

function leadingToCryptography(
  drafts: readonly { component: CdxComponent; ref: string }[],
  graph: ReadonlyMap<string, DraftLink[]>,
): Set<string> {
  const wanted = new Set<string>();
  const stack = drafts.filter(({ component }) => isCryptographic(component)).map(({ ref }) => ref);
  for (let ref = stack.pop(); ref !== undefined; ref = stack.pop()) {
    if (wanted.has(ref)) continue;
    wanted.add(ref);
    for (const { from } of graph.get(ref) ?? []) stack.push(from);
  }
  return wanted;
}

function isWithin16(specVersion: string): boolean {
  return specVersion === '1.4' || specVersion === '1.5' || specVersion === '1.6';
}

function isCryptographic(component: CdxComponent): boolean {
  return component.type === 'cryptographic-asset' || component.cryptoProperties !== undefined;
}

function uniqueRef(component: CdxComponent, index: number, seen: Set<string>, warnings: Remark[]): string {
  const ref = component['bom-ref'];
  if (typeof ref === 'string' && !seen.has(ref)) {
    seen.add(ref);
    return ref;
  }
  if (typeof ref === 'string' && warnings.length < 100)
    warnings.push({
      pointer: '',
      code: 'bom-ref.repeated',
      detail: `a bom-ref names two components; the first is meant`,
    });
  // A space cannot be confused with a ref that the document uses elsewhere, for those that lack one.
  return ` ${index}`;
}

function warnOfDangling(links: readonly DraftLink[], known: ReadonlySet<string>, warnings: Remark[]): void {
  const dangling = links.filter(({ from, to }) => !known.has(to) || !known.has(from)).length;
  if (dangling > 0)
    warnings.push({
      pointer: '',
      code: 'reference.dangling',
      detail: `${dangling} references lead to nothing in the document`,
    });
}

/** What the document describes: the repository, else the component, else the series that its serial number stands for. */
function sourceOf({ metadata, serialNumber }: Bom): string | undefined {
  const property = (...names: string[]) => metadata?.properties?.find(({ name }) => names.includes(name))?.value;
  const repository = property('gitUrl', 'git-url');
  if (repository !== undefined && repository !== '') return withoutSecrets(repository).replace(/(?:\.git)?\/?$/, '');
  const { purl, group, name } = metadata?.component ?? {};
  const component = purl ?? [group, name].filter((part) => part !== undefined).join('/');
  return component === '' ? serialNumber : withoutSecrets(component);
}
