import type { CdxComponent, DraftAsset, DraftLink } from '../ingest/draft.js';
import type { Remark } from '../ingest/ingest-outcome.js';
import { addLinks, assetOf } from './component-reader.js';
import { asVersion16 } from './downgrade.js';

/** A document that its schema has judged, as far as an inventory reads it. */
export interface Bom {
  specVersion: string;
  serialNumber?: string;
  version?: number;
  metadata?: { timestamp?: string; component?: CdxComponent; properties?: { name: string; value?: string }[] };
  components?: CdxComponent[];
  dependencies?: { ref: string; dependsOn?: string[]; provides?: string[] }[];
}

interface Connected {
  readonly assets: DraftAsset[];
  readonly links: DraftLink[];
  readonly ignored: number;
}

/**
 * The cryptographic components and whatever leads to one: a library that uses nothing of the kind is only counted. The components become
 * those of the assets, so a document is asked once.
 */
export function connected(bom: Bom, warnings: Remark[]): Connected {
  const components = componentsOf(bom);
  /** Of each component whether it is cryptographic, by its ref. */
  const known = new Map<string, boolean>();
  const refs = components.map((component, index) => addRef(component, index, known, warnings));
  const links = dependenciesOf(bom);
  const leading = leadingToCryptography(known, links);
  const assets: DraftAsset[] = [];
  const isNew = !OLD_VERSIONS.has(bom.specVersion);
  for (const [index, component] of components.entries()) {
    const ref = refs[index] ?? '';
    if (!known.get(ref) && !leading.has(ref)) continue;
    const asset = assetOf(isNew ? asVersion16(component) : component, ref);
    assets.push(asset);
    addLinks(asset, links);
  }
  return { assets, links: goodLinks(links, known, leading, warnings), ignored: components.length - assets.length };
}

/** What 1.6 can say as it stands. */
const OLD_VERSIONS = new Set(['1.4', '1.5', '1.6']);

/** Every component at every depth, the described one first. Without recursion: depth is the sender's choice. */
function componentsOf({ metadata, components = [] }: Bom): CdxComponent[] {
  const all: CdxComponent[] = [];
  const described = metadata?.component;
  for (const root of described === undefined ? components : [described, ...components]) {
    const stack = [root];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      all.push(next);
      const nested = next['components'];
      if (Array.isArray(nested)) for (const one of nested as CdxComponent[]) stack.push(one);
    }
  }
  return all;
}

function addRef(component: CdxComponent, index: number, known: Map<string, boolean>, warnings: Remark[]): string {
  const given = component['bom-ref'];
  const isGood = typeof given === 'string' && !known.has(given);
  if (typeof given === 'string' && !isGood && warnings.length < 100)
    warnings.push({
      pointer: '',
      code: 'bom-ref.repeated',
      detail: `a bom-ref names two components; the first is meant`,
    });
  // A space cannot be confused with a ref that the document uses elsewhere, for those that lack one.
  const ref = isGood ? given : ` ${index}`;
  known.set(ref, isCryptographic(component));
  return ref;
}

function isCryptographic(component: CdxComponent): boolean {
  return component.type === 'cryptographic-asset' || component.cryptoProperties !== undefined;
}

function dependenciesOf({ dependencies = [] }: Bom): DraftLink[] {
  const links: DraftLink[] = [];
  for (const { ref: from, dependsOn, provides } of dependencies) {
    for (const to of distinct(dependsOn)) links.push({ from, to, kind: 'dependsOn' });
    for (const to of distinct(provides)) links.push({ from, to, kind: 'provides' });
  }
  return links;
}

/** Most have one target or none. */
function distinct(refs: readonly string[] = []): Iterable<string> {
  return refs.length < 2 ? refs : new Set(refs);
}

/** Refs that are not cryptographic themselves; they need not be of components. */
function leadingToCryptography(known: ReadonlyMap<string, boolean>, links: readonly DraftLink[]): Set<string> {
  const users = new Map<string, string[]>();
  for (const { from, to } of links) {
    if (known.get(from)) continue;
    const before = users.get(to);
    if (before === undefined) users.set(to, [from]);
    else before.push(from);
  }
  const leading = new Set<string>();
  const stack = [...users.keys()].filter((ref) => known.get(ref));
  for (let ref = stack.pop(); ref !== undefined; ref = stack.pop())
    for (const user of users.get(ref) ?? [])
      if (!leading.has(user)) {
        leading.add(user);
        stack.push(user);
      }
  return leading;
}

/** Those between assets. */
function goodLinks(
  links: readonly DraftLink[],
  known: ReadonlyMap<string, boolean>,
  leading: ReadonlySet<string>,
  warnings: Remark[],
): DraftLink[] {
  let dangling = 0;
  const good = links.filter(({ from, to }) => {
    const [start, end] = [known.get(from), known.get(to)];
    if (start === undefined || end === undefined) dangling += 1;
    return (start || leading.has(from)) && (end || leading.has(to));
  });
  if (dangling > 0)
    warnings.push({
      pointer: '',
      code: 'reference.dangling',
      detail: `${dangling} references lead to nothing in the document`,
    });
  return good;
}
