import type { CdxComponent, DraftAsset, DraftLink } from '../ingest/draft.js';
import type { Remark } from '../ingest/ingest-outcome.js';
import { assetOf } from './component-reader.js';
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
  readonly received: number;
  readonly ignored: number;
}

/**
 * The cryptographic components and whatever leads to one: a library that uses nothing of the kind is only counted. The components become
 * those of the assets, so a document is asked once. What is wrong with the links is told when the last asset was made.
 */
export function connected(bom: Bom, warnings: Remark[]): Connected {
  const nodes = new Nodes(bom, warnings);
  const isNew = !WITHIN_16.has(bom.specVersion);
  function* assets(): Generator<DraftAsset> {
    for (const { component, ref, links, isWanted } of nodes.all) {
      if (!isWanted) {
        nodes.countDangling(links);
        continue;
      }
      const asset = assetOf(isNew ? asVersion16(component) : component, ref, links);
      nodes.countDangling(asset.links);
      yield asset;
    }
    if (nodes.dangling > 0) warnings.push(danglingLinks(nodes.dangling));
  }
  const received = nodes.all.filter(({ isWanted }) => isWanted).length;
  return { assets: assets(), received, ignored: nodes.all.length - received };
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

/** A component before it is read as an asset. */
interface Node {
  readonly component: CdxComponent;
  readonly ref: string;
  readonly isCryptographic: boolean;
  /** Whether it becomes an asset. */
  isWanted: boolean;
  /** What the list of dependencies says of it. */
  links: DraftLink[];
}

/** Of most that are no library: never added to. */
const NONE: DraftLink[] = [];

/** The components of a document and what leads from one to another. */
class Nodes {
  readonly all: readonly Node[];
  /** How many links lead to or from nothing in the document. */
  dangling = 0;
  private readonly byRef = new Map<string, Node>();
  /** Refs by what they use, other than of what is cryptographic itself. They need not be of components. */
  private readonly users = new Map<string, string[]>();

  constructor(bom: Bom, warnings: Remark[]) {
    this.all = componentsOf(bom).map((component, index) => this.node(component, index, warnings));
    for (const dependency of bom.dependencies ?? []) this.depend(dependency);
    this.wantWhatLeadsToCryptography();
  }

  countDangling(links: readonly DraftLink[]): void {
    for (const { to } of links) if (!this.byRef.has(to)) this.dangling += 1;
  }

  private node(component: CdxComponent, index: number, warnings: Remark[]): Node {
    const given = component['bom-ref'];
    const isGood = typeof given === 'string' && !this.byRef.has(given);
    if (typeof given === 'string' && !isGood && warnings.length < 100) warnings.push(REPEATED);
    // A space cannot be confused with a ref that the document uses elsewhere, for those that lack one.
    const ref = isGood ? given : ` ${index}`;
    const cryptographic = isCryptographic(component);
    const node = { component, ref, isCryptographic: cryptographic, isWanted: cryptographic, links: NONE };
    if (isGood) this.byRef.set(ref, node);
    return node;
  }

  private depend({ ref, dependsOn, provides }: Dependency): void {
    const node = this.byRef.get(ref);
    const used = linksTo(dependsOn, 'dependsOn');
    const links = provides === undefined ? used : [...used, ...linksTo(provides, 'provides')];
    if (node === undefined) this.dangling += links.length;
    else if (node.links === NONE) node.links = links;
    else for (const link of links) node.links.push(link);
    if (node?.isCryptographic) return;
    for (const { to } of links) {
      const before = this.users.get(to);
      if (before === undefined) this.users.set(to, [ref]);
      else before.push(ref);
    }
  }

  private wantWhatLeadsToCryptography(): void {
    const leading = new Set<string>();
    const stack = [...this.users.keys()].filter((ref) => this.byRef.get(ref)?.isCryptographic);
    for (let ref = stack.pop(); ref !== undefined; ref = stack.pop())
      for (const user of this.users.get(ref) ?? []) {
        if (leading.has(user)) continue;
        leading.add(user);
        stack.push(user);
        const node = this.byRef.get(user);
        if (node !== undefined) node.isWanted = true;
      }
  }
}

function isCryptographic(component: CdxComponent): boolean {
  return component.type === 'cryptographic-asset' || component.cryptoProperties !== undefined;
}

/** Most have one target or none. */
function linksTo(refs: readonly string[] | undefined, kind: DraftLink['kind']): DraftLink[] {
  if (refs === undefined || refs.length === 0) return NONE;
  const distinct = refs.length === 1 ? refs : [...new Set(refs)];
  return distinct.map((to) => ({ to, kind }));
}

const REPEATED: Remark = {
  pointer: '',
  code: 'bom-ref.repeated',
  detail: 'a bom-ref names two components; the first is meant',
};

function danglingLinks(count: number): Remark {
  return { pointer: '', code: 'reference.dangling', detail: `${count} references lead to nothing in the document` };
}
