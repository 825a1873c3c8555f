import type { AssetGraph, GraphAsset } from './asset-graph.js';
import type { Traits } from './asset-traits.js';
import { certificateConditions } from './certificate-traits.js';
import { distinct, AlgorithmUseLists, MAX_INHERITED, NONE } from './algorithm-use-lists.js';
import { memoize } from './memoize.js';
import { namedAlgorithms, type DeclaredName } from './named-algorithms.js';
import { type DeclaredProtocol, protocolFacts } from './protocol-facts.js';
import type { AlgorithmUse, ResolvedBy, RiskSubject } from '../../model/risk-subject.js';
import { SHOR_BREAKABLE } from '../vocabularies/families.js';
import { bindsKeys } from '../vocabularies/known-names.js';
import { ownProperty } from '../../../formats/encoding/own-property.js';

interface Resolved {
  readonly ingredients: readonly AlgorithmUse[];
  readonly resolvedBy: ResolvedBy[] | null;
}

export interface ReadSubject {
  readonly subject: RiskSubject;
  readonly resolvedBy: ResolvedBy[] | null;
}

/** SubjectReader finds the facts that rules use: facts about the asset itself, and facts about the algorithms that the asset uses. */
export class SubjectReader {
  private readonly named = memoize(({ name, traits }: GraphAsset) => namedAlgorithms(name, traits.declared));
  private readonly lists = new AlgorithmUseLists();
  private readonly subjects = memoize<readonly AlgorithmUse[], Map<string, RiskSubject>>(() => new Map());
  /** Cache of subjects by used algorithms and traits, because documents contain many keys and certificates with equal facts. */
  private readonly bySubject = memoize<readonly AlgorithmUse[], Map<Traits, RiskSubject>>(() => new Map());
  private readonly paths = {
    reference: memoize<GraphAsset, ResolvedBy[]>(({ id }) => [{ via: 'reference', assetId: id }]),
    dependsOn: memoize<GraphAsset, ResolvedBy[]>(({ id }) => [{ via: 'dependsOn', assetId: id }]),
    usedBy: memoize<GraphAsset, ResolvedBy[]>(({ id }) => [{ via: 'usedBy', assetId: id }]),
  };

  private hasUnread: boolean | undefined;

  constructor(private readonly graph: AssetGraph) {}

  read(asset: GraphAsset): ReadSubject {
    switch (asset.kind) {
      case 'algorithm':
        return this.algorithm(asset);
      case 'related-crypto-material':
        return this.material(asset);
      case 'certificate':
        return this.certificate(asset);
      case 'protocol':
        return this.protocol(asset);
      case 'component':
        return this.component(asset);
    }
  }

  private algorithm(asset: GraphAsset): ReadSubject {
    const { ingredients: own, isContradictory, isNoAlgorithm } = this.named(asset);
    const quality = isContradictory ? ['name-contradicts-oid'] : [];
    const isInherited = own.length === 0;
    const resolved = isInherited ? this.inherited(asset) : { ingredients: own, resolvedBy: null };
    const isUnknown = resolved.ingredients.length === 0;
    if (isUnknown && isNoAlgorithm) return this.subjectOf(asset, UNRESOLVED, { notApplicable: true });
    const unread = isInherited && !isUnknown ? NOTHING_UNREAD : this.unreadAmong([asset]);
    if (isUnknown) quality.push('unknown-algorithm');
    if (claimConflict(asset.traits.declared, own)) quality.push('claim-contradicts-identity');
    if (isValidatedByFips1402(asset.traits.declared)) quality.push('fips-140-2-validated');
    return this.subjectOf(asset, resolved, { ...unread, quality: [...quality, ...unread.quality] });
  }

  private material(asset: GraphAsset): ReadSubject {
    const { material, size } = asset.traits;
    const conditions = material?.conditions;
    if (material?.isKey === false)
      return this.subjectOf(asset, UNRESOLVED, { material: conditions, notApplicable: true });
    const { ingredients, resolvedBy } = this.inherited(asset);
    const resolved = { ingredients: this.lists.sized(ingredients, size), resolvedBy };
    const unread = this.mayLackNames() ? this.unreadAmong(this.graph.targets(asset, 'algorithm')) : NOTHING_UNREAD;
    const factsOf = () => ({ material: conditions, quality: unknownIn(resolved) });
    return unread === NOTHING_UNREAD
      ? this.shared(asset, resolved, factsOf)
      : this.subjectOf(asset, resolved, withUnread(factsOf(), unread));
  }

  private certificate(asset: GraphAsset): ReadSubject {
    const signatures = this.graph.targets(asset, 'signatureAlgorithm');
    const keys = this.graph.targets(asset, 'subjectPublicKey');
    const { certificate } = asset.traits;
    const ofKey = certificate?.enciphers === true ? this.lists.ofEncipheringKey : this.lists.ofCertificateKey;
    let resolved: Resolved = {
      ingredients: this.lists.ofCertificate(this.near(signatures), ofKey(this.near(keys))),
      resolvedBy: this.referred([...signatures, ...keys]),
    };
    if (resolved.ingredients.length === 0) {
      const { ingredients, resolvedBy } = this.inherited(asset);
      resolved = { ingredients: ofKey(ingredients), resolvedBy };
    }
    const { ingredients } = resolved;
    const unread = this.unreadAmong([...signatures, ...keys]);
    const factsOf = (): FurtherFacts => ({
      certificate: certificate && certificateConditions(certificate, ingredients),
      quality: unknownIn(resolved),
      main: this.lists.mainOf(ingredients),
      ...(certificate?.isSelfSigned === true ? { selfSignedRoot: true } : {}),
    });
    return unread === NOTHING_UNREAD
      ? this.shared(asset, resolved, factsOf)
      : this.subjectOf(asset, resolved, withUnread(factsOf(), unread));
  }

  /** Reports whether the document contains unrecognized algorithm names. In most documents all names are recognized, so assets need not be searched. */
  private mayLackNames(): boolean {
    this.hasUnread ??= this.graph.has((asset) => asset.kind === 'algorithm' && this.named(asset).unread.length > 0);
    return this.hasUnread;
  }

  /** Returns the unrecognized names of the algorithms among the given assets. */
  private unreadAmong(assets: readonly GraphAsset[]): Unread {
    if (!this.mayLackNames()) return NOTHING_UNREAD;
    let found: Unread = NOTHING_UNREAD;
    for (const asset of assets) {
      if (asset.kind !== 'algorithm') continue;
      const { unread, mayBePublicKey } = this.named(asset);
      if (unread.length === 0) continue;
      const quality = mayBePublicKey || found.quality.length > 0 ? UNREAD_PUBLIC_KEY : [];
      found = { unread: [...new Set([...found.unread, ...unread])].sort().slice(0, MAX_UNREAD), quality };
    }
    return found;
  }

  private referred(targets: readonly GraphAsset[]): ResolvedBy[] {
    const [only] = targets;
    if (only !== undefined && targets.length === 1) return this.paths.reference(only);
    return targets.map(({ id }) => ({ via: 'reference', assetId: id }));
  }

  private protocol(asset: GraphAsset): ReadSubject {
    const targets = this.graph
      .targets(asset, 'cipherSuite', 'cryptoRef', 'dependsOn')
      .filter(({ kind }) => kind === 'algorithm' || kind === 'related-crypto-material')
      .slice(0, MAX_INHERITED);
    const declared = asset.traits.protocol ?? UNDECLARED;
    const { protocol, ingredients, quality } = protocolFacts(declared, this.near(targets));
    const resolvedBy = targets.map(({ id }): ResolvedBy => ({ via: 'reference', assetId: id }));
    const unread = this.unreadAmong(targets);
    return this.subjectOf(
      asset,
      { ingredients: distinct(ingredients), resolvedBy: resolvedBy.length > 0 ? resolvedBy : null },
      { protocol, unread: unread.unread, quality: [...quality, ...unread.quality] },
    );
  }

  /** Classifies a library or application by the algorithms that it uses, not by the algorithms that it provides. */
  private component(asset: GraphAsset): ReadSubject {
    const used = this.graph
      .targets(asset, 'dependsOn')
      .filter(({ kind }) => kind !== 'component')
      .slice(0, MAX_INHERITED);
    const ingredients = distinct(this.near(used));
    const resolvedBy = used.map(({ id }): ResolvedBy => ({ via: 'dependsOn', assetId: id }));
    return this.subjectOf(
      asset,
      { ingredients, resolvedBy: used.length > 0 ? resolvedBy : null },
      { notApplicable: used.length === 0 },
    );
  }

  /**
   * Resolves the algorithm of an asset: by algorithmRef, then by dependsOn, in each case with a second step if needed. If these references do not determine the
   * algorithm, uses the algorithms that depend on the asset, and finally the name of the asset.
   */
  private inherited(asset: GraphAsset): Resolved {
    const { graph } = this;
    const reference = graph.targets(asset, 'algorithm', 'subjectPublicKey', 'signatureAlgorithm');
    const found =
      this.resolved('reference', reference) ?? this.resolved('dependsOn', graph.targets(asset, 'dependsOn'));
    if (found !== undefined) return found;
    if (asset.kind !== 'algorithm') {
      const users = graph.users(asset, 'dependsOn', 'cryptoRef').filter(({ kind }) => kind === 'algorithm');
      const used = this.resolved('usedBy', users);
      if (used !== undefined) return used;
    }
    const ingredients = this.ofKey(asset, this.ofName(asset));
    return { ingredients, resolvedBy: ingredients.length > 0 ? BY_NAME : null };
  }

  private resolved(via: Exclude<ResolvedBy['via'], 'name'>, targets: readonly GraphAsset[]): Resolved | undefined {
    const algorithms = targets.filter(({ kind }) => kind === 'algorithm');
    const others = targets.filter(({ kind }) => kind !== 'algorithm');
    return this.firstNamed(algorithms, via) ?? this.secondHop(targets, via) ?? this.firstNamed(others, via);
  }

  private firstNamed(targets: readonly GraphAsset[], via: Exclude<ResolvedBy['via'], 'name'>): Resolved | undefined {
    for (const target of targets) {
      const ingredients = this.ofName(target);
      if (ingredients.length > 0)
        return { ingredients: this.ofKey(target, ingredients), resolvedBy: this.paths[via](target) };
    }
    return undefined;
  }

  /**
   * Returns the algorithms in an asset's name. The name of a key or certificate is used only if it consists entirely of an algorithm, unlike
   * `SHA256:<fingerprint>`.
   */
  private ofName(asset: GraphAsset): readonly AlgorithmUse[] {
    const { ingredients, isWhole } = this.named(asset);
    return asset.kind === 'algorithm' || isWhole ? ingredients : NONE;
  }

  /** Returns the ingredients of an algorithm that apply to its keys. */
  private ofKey({ name }: GraphAsset, ingredients: readonly AlgorithmUse[]): readonly AlgorithmUse[] {
    return bindsKeys(name) ? ingredients : this.lists.ofKey(ingredients);
  }

  private secondHop(targets: readonly GraphAsset[], via: ResolvedBy['via']): Resolved | undefined {
    for (const target of targets) {
      for (const next of this.graph.targets(target, 'algorithm', 'dependsOn')) {
        const ingredients = this.ofName(next);
        if (ingredients.length === 0) continue;
        const resolvedBy: ResolvedBy[] = [
          { via, assetId: target.id },
          { via: 'dependsOn', assetId: next.id },
        ];
        return { ingredients: this.ofKey(next, ingredients), resolvedBy };
      }
    }
    return undefined;
  }

  /** Returns the algorithms of the assets to which an asset refers. Usually, an asset refers to only one asset. */
  private near(assets: readonly GraphAsset[]): readonly AlgorithmUse[] {
    const [first] = assets;
    if (first === undefined) return NONE;
    return assets.length === 1 ? this.partsOf(first) : assets.flatMap((asset) => this.partsOf(asset));
  }

  private partsOf(asset: GraphAsset): readonly AlgorithmUse[] {
    const own = asset.kind === 'algorithm' ? this.own(asset) : NONE;
    if (own.length > 0) return own;
    return this.lists.sized(this.inherited(asset).ingredients, asset.traits.size);
  }

  private own(asset: GraphAsset): readonly AlgorithmUse[] {
    return this.named(asset).ingredients;
  }

  private shared(asset: GraphAsset, resolved: Resolved, factsOf: () => FurtherFacts): ReadSubject {
    const known = this.bySubject(resolved.ingredients);
    let subject = known.get(asset.traits);
    if (subject === undefined) {
      ({ subject } = this.subjectOf(asset, resolved, factsOf()));
      known.set(asset.traits, subject);
    }
    return { subject, resolvedBy: resolved.resolvedBy };
  }

  /** Returns the subject of an asset. Assets with the same facts share a subject. Most assets share the list of ingredients and have few further facts. */
  private subjectOf({ kind }: GraphAsset, { ingredients, resolvedBy }: Resolved, more: FurtherFacts): ReadSubject {
    const known = this.subjects(ingredients);
    let key: string = kind;
    for (const name of FURTHER_FACTS) if (isGiven(more[name])) key += ` ${name} ${JSON.stringify(more[name])}`;
    let subject = known.get(key);
    if (subject === undefined) {
      const facts = Object.fromEntries(
        FURTHER_FACTS.filter((name) => isGiven(more[name])).map((name) => [name, more[name]]),
      );
      subject = { kind, ingredients, ...facts };
      known.set(key, subject);
    }
    return { subject, resolvedBy };
  }
}

const UNRESOLVED: Resolved = { ingredients: NONE, resolvedBy: null };
const BY_NAME: ResolvedBy[] = [{ via: 'name' }];
const UNDECLARED: DeclaredProtocol = { type: 'unknown', version: null, suites: [], groups: [], name: '', addition: '' };

/** Unread contains unrecognized names and the resulting quality conditions. */
interface Unread {
  readonly unread: readonly string[];
  readonly quality: readonly string[];
}

function withUnread(facts: FurtherFacts, { unread, quality }: Unread): FurtherFacts {
  return { ...facts, unread, quality: [...(facts.quality ?? []), ...quality] };
}

const NOTHING_UNREAD: Unread = { unread: [], quality: [] };
const UNREAD_PUBLIC_KEY = ['unread-public-key'];
/** MAX_UNREAD is the maximum number of unrecognized names per asset. More names would not be useful. */
const MAX_UNREAD = 5;

function unknownIn({ ingredients }: Resolved): string[] {
  return ingredients.length === 0 ? ['unknown-algorithm'] : [];
}

type FurtherFacts = Omit<RiskSubject, 'kind' | 'ingredients'>;
const FURTHER_FACTS: readonly (keyof FurtherFacts)[] = [
  'protocol',
  'material',
  'certificate',
  'quality',
  'unread',
  'main',
  'selfSignedRoot',
  'notApplicable',
];

/** Reports whether a fact is included in a subject. Empty and false facts are omitted. */
function isGiven(value: FurtherFacts[keyof FurtherFacts]): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
}

/** Reports whether a module is declared as validated under FIPS 140-2 but not under FIPS 140-3. */
function isValidatedByFips1402({ properties }: DeclaredName): boolean {
  const levels = properties?.certificationLevel;
  if (!Array.isArray(levels)) return false;
  const has = (start: string) => levels.some((level) => typeof level === 'string' && level.startsWith(start));
  return has('fips140-2') && !has('fips140-3');
}

/** NIST security categories of algorithms (FIPS 203 to 205; NIST PQC call for proposals, section 4.A.5). */
const CATEGORIES: Record<string, Record<string, number>> = {
  'ML-KEM': { 512: 1, 768: 3, 1024: 5 },
  'ML-DSA': { 44: 2, 65: 3, 87: 5 },
  AES: { 128: 1, 192: 3, 256: 5 },
  'SHA-2': { 256: 2, 384: 4 },
  'SHA-3': { 256: 2, 384: 4 },
};

/**
 * Reports whether the security level in a document differs from the algorithm's level, in either direction. The algorithm's level takes precedence.
 */
function claimConflict({ properties }: DeclaredName, parts: readonly AlgorithmUse[]): boolean {
  const claim = properties?.nistQuantumSecurityLevel;
  if (typeof claim !== 'number' || parts.length === 0) return false;
  if (parts.some(({ family }) => SHOR_BREAKABLE.has(family))) return claim > 0;
  const [only] = parts;
  if (parts.length > 1 || only === undefined) return false;
  const category = ownProperty(ownProperty(CATEGORIES, only.family) ?? {}, only.param ?? String(only.bits));
  return category !== undefined && category !== claim;
}
