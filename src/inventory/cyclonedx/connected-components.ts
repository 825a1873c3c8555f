import type { CdxComponent, DraftAsset, DraftLink } from '../ingest/draft.js';
import type { Remark } from '../ingest/ingest-outcome.js';
import { assetOf, linksOf } from './component-reader.js';
import { asVersion16 } from './downgrade.js';

/** A document that its schema has judged, as far as an inventory reads it. */
export interface Bom {
  specVersion: string;
  serialNumber?: string;
  version?: number;
  metadata?: { timestamp?: string; component?: CdxComponent; properties?: { name: string; value?: string }[] };
  components?: CdxComponent[];
  dependencies?: Dependency[];
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
  readonly provides?: readonly string[];
}

interface Connected {
  /** Each is made when it is asked for: they can be gone through once. */
  readonly assets: Iterable<DraftAsset>;
  /** Whole when the assets were gone through. */
  readonly links: readonly DraftLink[];
  readonly received: number;
  readonly ignored: number;
}

/**
 * The cryptographic components and whatever leads to one: a library that uses nothing of the kind is only counted. The components become
 * those of the assets, so a document is asked once. What is wrong with the links is told when the last asset was made.
 */
export function connected(bom: Bom, warnings: Remark[]): Connected {
  const { specVersion, dependencies = [] } = bom;
  const components = componentsOf(bom);
  /** Of each component whether it is cryptographic, by its ref. */
  const known = new Map<string, boolean>();
  const refs = components.map((component, index) => addRef(component, index, known, warnings));
  const leading = leadingToCryptography(known, dependencies);
  const links = new AssetLinks(known, leading);
  for (const dependency of dependencies) links.addDependency(dependency);
  const wanted = [...components.keys()].filter(
    (index) => isCryptographic(components[index]) || leading.has(refs[index] ?? ''),
  );
  const isNew = !WITHIN_16.has(specVersion);
  function* assets(): Generator<DraftAsset> {
    for (const index of wanted) {
      const component = components[index] as CdxComponent;
      const asset = assetOf(isNew ? asVersion16(component) : component, refs[index] ?? '');
      for (const link of linksOf(asset)) links.add(link, true);
      yield asset;
    }
    warnOfDangling(links.dangling, warnings);
  }
  const received = wanted.length;
  return { assets: assets(), links: links.good, received, ignored: components.length - received };
}

/** What 1.6 can say as it stands. */
const WITHIN_16 = new Set(['1.4', '1.5', '1.6']);

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

function isCryptographic(component: CdxComponent | undefined): boolean {
  return component?.type === 'cryptographic-asset' || component?.cryptoProperties !== undefined;
}

/** Refs that are not cryptographic themselves; they need not be of components. */
function leadingToCryptography(
  known: ReadonlyMap<string, boolean>,
  dependencies: readonly Dependency[],
): ReadonlySet<string> {
  const users = new Map<string, string[]>();
  for (const { ref, dependsOn = [], provides = [] } of dependencies) {
    if (known.get(ref)) continue;
    for (const to of [...dependsOn, ...provides]) {
      const before = users.get(to);
      if (before === undefined) users.set(to, [ref]);
      else before.push(ref);
    }
  }
  const leading = new Set<string>();
  const stack = [...users.keys()].filter((ref) => known.get(ref));
  for (let ref = stack.pop(); ref !== undefined; ref = stack.pop())
    for (const user of users.get(ref) ?? []) {
      if (leading.has(user)) continue;
      leading.add(user);
      stack.push(user);
    }
  return leading;
}

/** The links between assets. */
class AssetLinks {
  readonly good: DraftLink[] = [];
  /** How many lead to nothing in the document. */
  dangling = 0;

  constructor(
    private readonly known: ReadonlyMap<string, boolean>,
    private readonly leading: ReadonlySet<string>,
  ) {}

  addDependency({ ref: from, dependsOn, provides }: Dependency): void {
    const start = this.known.get(from);
    for (const to of distinct(dependsOn)) this.add({ from, to, kind: 'dependsOn' }, start);
    for (const to of distinct(provides)) this.add({ from, to, kind: 'provides' }, start);
  }

  /** @param start what is known of the component at its start. */
  add(link: DraftLink, start: boolean | undefined): void {
    const end = this.known.get(link.to);
    if (start === undefined || end === undefined) this.dangling += 1;
    if ((start || this.leading.has(link.from)) && (end || this.leading.has(link.to))) this.good.push(link);
  }
}

/** Most have one target or none. */
function distinct(refs: readonly string[] = []): Iterable<string> {
  return refs.length < 2 ? refs : new Set(refs);
}

function warnOfDangling(dangling: number, warnings: Remark[]): void {
  if (dangling > 0)
    warnings.push({
      pointer: '',
      code: 'reference.dangling',
      detail: `${dangling} references lead to nothing in the document`,
    });
}
