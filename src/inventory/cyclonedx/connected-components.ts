import type { CdxComponent, DraftAsset, Remark } from '../model/document.js';
import { type DraftRef, type DraftRefs, addLink } from '../model/draft-refs.js';
import { assetOf } from './component-reader.js';
import { ImpliedAlgorithms } from './protocol-members.js';
import { asVersion16 } from './version-16.js';

/** The members of a document, checked by its schema, that the inventory reads, without the lists. */
export interface Bom {
  specVersion: string;
  serialNumber?: string;
  version?: number;
  metadata?: { timestamp?: string; component?: CdxComponent; properties?: { name: string; value?: string }[] };
}

export interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
  readonly provides?: readonly string[];
}

/** The lists of a document. Each is iterated once, components first; the components become those of the assets. */
export interface BomParts {
  /** The component that the document describes. */
  readonly described: CdxComponent | undefined;
  /** Whether it has members that CycloneDX 1.6 lacks. */
  readonly isNew: boolean;
  components(refs: DraftRefs): Iterable<CdxComponent>;
  dependencies(refs: DraftRefs): Iterable<Dependency>;
}

/** Counts and warnings about a document. */
export interface Tally {
  received: number;
  ignored: number;
  readonly warnings: Remark[];
}

/**
 * The cryptographic components, and the components from which links lead to one: a library that uses no cryptography is only counted.
 * Cryptographic components come as they are read, the others when all links are known.
 */
export function* assetsOfBom(parts: BomParts, refs: DraftRefs, tally: Tally): Generator<DraftAsset> {
  const plain = new PlainComponents(refs);
  const implied = new ImpliedAlgorithms();
  let met = 0;
  const asset = (component: CdxComponent, ref: DraftRef) => {
    tally.received += 1;
    if (!parts.isNew) return assetOf(component, ref.name);
    const { component: converted, links } = asVersion16(component, implied);
    const made = assetOf(converted, ref.name);
    return links.length === 0 ? made : { ...made, links: [...made.links, ...links] };
  };
  for (const component of componentsOf(parts, refs)) {
    const ref = refFor(component, met, refs, tally.warnings);
    met += 1;
    ref.isCryptographic = component.type === 'cryptographic-asset' || component.cryptoProperties !== undefined;
    if (ref.isCryptographic) yield asset(component, ref);
    else plain.add(ref, component);
  }
  for (const component of implied.components()) {
    const ref = refFor(component, met, refs, tally.warnings);
    met += 1;
    ref.isCryptographic = true;
    tally.received += 1;
    yield assetOf(component, ref.name);
  }
  for (const dependency of parts.dependencies(refs)) plain.depend(dependency);
  for (const { ref, component } of plain.wanted()) yield asset(component, ref);
  tally.ignored = met - tally.received;
  const dangling = danglingLinks(refs);
  if (dangling > 0) tally.warnings.push(danglingRemark(dangling));
}

/** Every component at every depth, the described one first. Without recursion: depth is the sender's choice. */
function* componentsOf({ described, components }: BomParts, refs: DraftRefs): Generator<CdxComponent> {
  if (described !== undefined) yield* withNested(described);
  for (const component of components(refs)) {
    if (component['components'] === undefined) yield component;
    else yield* withNested(component);
  }
}

/** All are collected before the first is yielded, since the receiver may change it. */
function withNested(root: CdxComponent): CdxComponent[] {
  const all: CdxComponent[] = [];
  const stack = [root];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    all.push(next);
    const nested = next['components'];
    if (Array.isArray(nested)) for (const one of nested as CdxComponent[]) stack.push(one);
  }
  return all;
}

function refFor(component: CdxComponent, index: number, refs: DraftRefs, warnings: Remark[]): DraftRef {
  const given = component['bom-ref'];
  if (typeof given === 'string') {
    const ref = refs.of(given);
    if (!ref.isComponent) {
      ref.isComponent = true;
      return ref;
    }
    if (warnings.length < MAX_WARNINGS) warnings.push(REPEATED);
  }
  // A component without a ref gets one; the space keeps it from being one that the document uses.
  const ref = refs.of(` ${index}`);
  ref.isComponent = true;
  return ref;
}

interface PlainComponent {
  readonly ref: DraftRef;
  readonly component: CdxComponent;
}

/** Components that are not cryptographic; those from which links lead to a cryptographic one are `wanted`. */
class PlainComponents {
  private readonly all: PlainComponent[] = [];
  /** The names from which a link leads to a name, without the cryptographic ones. They need not be components. */
  private readonly users = new Map<DraftRef, DraftRef[]>();

  constructor(private readonly refs: DraftRefs) {}

  add(ref: DraftRef, component: CdxComponent): void {
    this.all.push({ ref, component });
  }

  depend({ ref: name, dependsOn, provides }: Dependency): void {
    const from = this.refs.of(name);
    this.link(from, 'dependsOn', dependsOn);
    this.link(from, 'provides', provides);
  }

  *wanted(): Generator<PlainComponent> {
    const leading = new Set<DraftRef>();
    const stack = [...this.users.keys()].filter(({ isCryptographic }) => isCryptographic);
    for (let ref = stack.pop(); ref !== undefined; ref = stack.pop())
      for (const user of this.users.get(ref) ?? []) {
        if (leading.has(user)) continue;
        leading.add(user);
        stack.push(user);
      }
    for (const one of this.all) if (leading.has(one.ref)) yield one;
  }

  private link(from: DraftRef, kind: 'dependsOn' | 'provides', names: readonly string[] | undefined): void {
    if (names === undefined || names.length === 0) return;
    for (const name of names.length === 1 ? names : new Set(names)) {
      const link = this.refs.linkTo(name, kind);
      addLink(from, link);
      if (from.isCryptographic) continue;
      const before = this.users.get(link.to);
      if (before === undefined) this.users.set(link.to, [from]);
      else before.push(from);
    }
  }
}

/** The number of links to or from a name that no component of the document has. */
function danglingLinks(refs: DraftRefs): number {
  let count = 0;
  for (const { isComponent, links } of refs.values()) {
    if (isComponent) continue;
    count += links.length;
    // It is counted once, also when it leads to such a name.
    for (const { to } of links) to.uses -= 1;
  }
  for (const { isComponent, uses } of refs.values()) if (!isComponent) count += uses;
  return count;
}

const MAX_WARNINGS = 100;
const REPEATED: Remark = {
  pointer: '',
  code: 'bom-ref.repeated',
  detail: 'a bom-ref names two components; the first is meant',
};

function danglingRemark(count: number): Remark {
  return { pointer: '', code: 'reference.dangling', detail: `${count} references lead to nothing in the document` };
}
