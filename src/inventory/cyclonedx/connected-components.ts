import type { CdxComponent, DraftAsset } from '../model/document.js';
import { type DraftRef, type DraftRefs, addLink } from '../model/draft-refs.js';
import type { Remark } from '../model/ingest-outcome.js';
import { assetOf } from './component-reader.js';
import { asVersion16 } from './version-16.js';

/** A document that its schema has judged, as far as an inventory reads it, but for its lists. */
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

/** Each list is gone through once, components first. The components become those of the assets. */
export interface BomParts {
  /** What the document is about. */
  readonly described: CdxComponent | undefined;
  /** 1.6 cannot say all of it as it stands. */
  readonly isNew: boolean;
  components(refs: DraftRefs): Iterable<CdxComponent>;
  dependencies(refs: DraftRefs): Iterable<Dependency>;
}

/** What is told of a document beside its assets. */
export interface Tally {
  received: number;
  ignored: number;
  readonly warnings: Remark[];
}

/**
 * The cryptographic components and whatever leads to one: a library that uses nothing of the kind is only counted. What is cryptographic
 * comes as it is read, what leads to it when all links are known.
 */
export function* assetsOfBom(parts: BomParts, refs: DraftRefs, tally: Tally): Generator<DraftAsset> {
  const plain = new PlainComponents(refs);
  let met = 0;
  const asset = (component: CdxComponent, ref: DraftRef) => {
    tally.received += 1;
    return assetOf(parts.isNew ? asVersion16(component) : component, ref.name);
  };
  for (const component of componentsOf(parts, refs)) {
    const ref = refFor(component, met, refs, tally.warnings);
    met += 1;
    ref.isCryptographic = component.type === 'cryptographic-asset' || component.cryptoProperties !== undefined;
    if (ref.isCryptographic) yield asset(component, ref);
    else plain.add(ref, component);
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

/** All are found before the first is handed on: it may be changed then. */
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
  // A space cannot be confused with a ref that the document uses elsewhere, for those that lack one.
  const ref = refs.of(` ${index}`);
  ref.isComponent = true;
  return ref;
}

interface PlainComponent {
  readonly ref: DraftRef;
  readonly component: CdxComponent;
}

/** Components that are not cryptographic, and which of them lead to what is. */
class PlainComponents {
  private readonly all: PlainComponent[] = [];
  /** What uses a thing, other than what is cryptographic itself. It need not be a component. */
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
      const lead = this.refs.lead(kind, name);
      addLink(from, lead);
      if (from.isCryptographic) continue;
      const before = this.users.get(lead.to);
      if (before === undefined) this.users.set(lead.to, [from]);
      else before.push(from);
    }
  }
}

/** How many links lead to or from nothing in the document. */
function danglingLinks(refs: DraftRefs): number {
  let count = 0;
  for (const { isComponent, links } of refs.values()) {
    if (isComponent) continue;
    count += links.length;
    // Each counts once, whatever it leads to.
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
