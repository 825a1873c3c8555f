import type { CdxComponent, DraftAsset, Remark } from '../../model/document.js';
import { type DraftRef, type DraftRefs, addLink } from '../../model/draft-refs.js';
import { assetOf } from './component-reader.js';
import { ImpliedAlgorithms } from './protocol-members.js';
import { asVersion16 } from './version-16.js';

/** Bom contains the members of a document that the inventory reads, except for the lists. The members have been validated against the schema. */
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

/** BomParts provides the lists of a document. Each list is iterated only once, components first. The assets take ownership of the components. */
export interface BomParts {
  /** Component that the document describes. */
  readonly described: CdxComponent | undefined;
  /** Whether the document may have members that CycloneDX 1.6 does not define. */
  readonly isNew: boolean;
  components(refs: DraftRefs): Iterable<CdxComponent>;
  dependencies(refs: DraftRefs): Iterable<Dependency>;
}

/** Tally contains the counts and warnings of a document. */
export interface Tally {
  received: number;
  ignored: number;
  readonly warnings: Remark[];
}

/**
 * assetsOfBom yields the cryptographic components, and the components that link to a cryptographic component directly or indirectly. All other components are
 * only counted. Cryptographic components are yielded as they are read. Linking components are yielded once all links are known.
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

/** Yields all components at every depth, starting with the described component. Uses a stack instead of recursion, because the sender controls the depth. */
function* componentsOf({ described, components }: BomParts, refs: DraftRefs): Generator<CdxComponent> {
  if (described !== undefined) yield* withNested(described);
  for (const component of components(refs)) {
    if (component['components'] === undefined) yield component;
    else yield* withNested(component);
  }
}

/** Returns a component and all nested components. They are collected before the first is yielded, because the caller may modify a yielded component. */
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
  // A component without a bom-ref gets a generated ref. The leading space keeps it distinct from the bom-refs of the document.
  const ref = refs.of(` ${index}`);
  ref.isComponent = true;
  return ref;
}

interface PlainComponent {
  readonly ref: DraftRef;
  readonly component: CdxComponent;
}

/** PlainComponents contains the components that are not cryptographic. `wanted` yields the components that link to a cryptographic component. */
class PlainComponents {
  private readonly all: PlainComponent[] = [];
  /** For each linked name, the names that link to the linked name, except for names of cryptographic components. A name need not belong to a component. */
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

/** Returns the number of links to or from names that do not belong to a component of the document. */
function danglingLinks(refs: DraftRefs): number {
  let count = 0;
  for (const { isComponent, links } of refs.values()) {
    if (isComponent) continue;
    count += links.length;
    // A link between two names without a component is counted only once.
    for (const { to } of links) to.uses -= 1;
  }
  for (const { isComponent, uses } of refs.values()) if (!isComponent) count += uses;
  return count;
}

const MAX_WARNINGS = 100;
const REPEATED: Remark = {
  pointer: '',
  code: 'bom-ref.repeated',
  detail: 'two components have the same bom-ref; the first is used',
};

function danglingRemark(count: number): Remark {
  return { pointer: '', code: 'reference.dangling', detail: `${count} references have no target in the document` };
}
