import { propertyOf, WITHHELD_PROPERTY } from '../ingest/asset-identity.js';
import { textOf } from '../cyclonedx/json-values.js';
import type { CdxComponent } from '../ingest/draft.js';
import type { AssetGraph, GraphAsset } from './asset-graph.js';
import { certificateConditions } from './certificate-conditions.js';
import { claimConflict } from './claims.js';
import { distinct, IngredientLists, MOST_INHERITED, NONE } from './ingredient-lists.js';
import { madeOnce } from './made-once.js';
import { namedAlgorithms } from './named-algorithms.js';
import { protocolFacts } from './protocol-facts.js';
import type { Ingredient, ResolvedBy, RiskSubject } from './risk-subject.js';

/** Material that is used with an algorithm as a key is. */
const KEYS = new Set(['private-key', 'public-key', 'secret-key', 'key', 'shared-secret', 'other', 'unknown']);

interface Resolved {
  readonly ingredients: readonly Ingredient[];
  readonly resolvedBy: ResolvedBy[] | null;
}

export interface ReadSubject {
  readonly subject: RiskSubject;
  readonly resolvedBy: ResolvedBy[] | null;
}

/** Finds the facts that rules ask for: those of the asset itself, and those of the algorithms that it uses. */
export class SubjectReader {
  private readonly named = madeOnce((component: CdxComponent) => namedAlgorithms(component));
  private readonly lists = new IngredientLists();
  private readonly subjects = madeOnce<readonly Ingredient[], Map<string, RiskSubject>>(() => new Map());

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
    const { ingredients: own, isContradictory } = this.named(asset.component);
    const quality = isContradictory ? ['name-contradicts-oid'] : [];
    let resolved: Resolved = { ingredients: own, resolvedBy: null };
    if (own.length === 0) resolved = this.inherited(asset);
    if (resolved.ingredients.length === 0) quality.push('unknown-algorithm');
    if (claimConflict(asset.component, own)) quality.push('claim-contradicts-identity');
    return this.subjectOf(asset, resolved, { quality });
  }

  private material(asset: GraphAsset): ReadSubject {
    const facts = asset.component.cryptoProperties?.relatedCryptoMaterialProperties ?? {};
    const type = textOf(facts['type']) || 'unknown';
    const material: string[] = [];
    if (facts['state'] === 'compromised') material.push('compromised');
    const withheld = propertyOf(asset.component, WITHHELD_PROPERTY);
    if (withheld === 'value') material.push('secret-value-in-document');
    const found = withheld === 'value' || withheld === 'file';
    if (found && (type === 'private-key' || type === 'secret-key')) material.push('key-bytes-found');
    // A salt or an initialization vector is neither strong nor weak, whatever it is used with.
    if (!KEYS.has(type))
      return this.subjectOf(asset, { ingredients: NONE, resolvedBy: null }, { material, notApplicable: true });
    const { ingredients, resolvedBy } = this.inherited(asset);
    const resolved = { ingredients: this.lists.sized(ingredients, facts['size']), resolvedBy };
    const quality = resolved.ingredients.length === 0 ? ['unknown-algorithm'] : [];
    return this.subjectOf(asset, resolved, { material, quality });
  }

  private certificate(asset: GraphAsset): ReadSubject {
    const { component } = asset;
    const signatures = this.graph.targets(asset, 'signatureAlgorithm');
    const keys = this.graph.targets(asset, 'subjectPublicKey');
    let resolved: Resolved = {
      ingredients: this.lists.ofCertificate(this.near(signatures), this.near(keys)),
      resolvedBy: [...signatures, ...keys].map(({ id }) => ({ via: 'reference', assetId: id })),
    };
    if (resolved.ingredients.length === 0) {
      const { ingredients, resolvedBy } = this.inherited(asset);
      resolved = { ingredients: this.lists.ofCertificateKey(ingredients), resolvedBy };
    }
    const facts = component.cryptoProperties?.certificateProperties ?? {};
    const { conditions, selfSignedRoot } = certificateConditions(component, facts, resolved.ingredients);
    return this.subjectOf(asset, resolved, {
      certificate: conditions,
      quality: resolved.ingredients.length === 0 ? ['unknown-algorithm'] : [],
      ...(selfSignedRoot ? { selfSignedRoot } : {}),
    });
  }

  private protocol(asset: GraphAsset): ReadSubject {
    const targets = this.graph
      .targets(asset, 'cipherSuite', 'cryptoRef', 'dependsOn')
      .filter(({ kind }) => kind === 'algorithm' || kind === 'related-crypto-material')
      .slice(0, MOST_INHERITED);
    const ingredients = distinct(this.near(targets));
    const protocol = protocolFacts(asset.component, ingredients);
    const resolvedBy = targets.map(({ id }): ResolvedBy => ({ via: 'reference', assetId: id }));
    const quality = protocol.type === 'unknown' && ingredients.length === 0 ? ['unknown-algorithm'] : [];
    return this.subjectOf(
      asset,
      { ingredients, resolvedBy: resolvedBy.length > 0 ? resolvedBy : null },
      { protocol, quality },
    );
  }

  /** A library or application answers for what it uses, not for what it provides to others. */
  private component(asset: GraphAsset): ReadSubject {
    const used = this.graph
      .targets(asset, 'dependsOn')
      .filter(({ kind }) => kind !== 'component')
      .slice(0, MOST_INHERITED);
    const ingredients = distinct(this.near(used));
    const resolvedBy = used.map(({ id }): ResolvedBy => ({ via: 'dependsOn', assetId: id }));
    return this.subjectOf(
      asset,
      { ingredients, resolvedBy: used.length > 0 ? resolvedBy : null },
      { notApplicable: used.length === 0 },
    );
  }

  /** algorithmRef, then dependsOn, then either once more, then who uses it, then its own name. */
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
    const ingredients = this.lists.ofKey(this.own(asset.component));
    return { ingredients, resolvedBy: ingredients.length > 0 ? [{ via: 'name' }] : null };
  }

  private resolved(via: ResolvedBy['via'], targets: readonly GraphAsset[]): Resolved | undefined {
    for (const target of targets) {
      const ingredients = this.own(target.component);
      if (ingredients.length > 0)
        return { ingredients: this.lists.ofKey(ingredients), resolvedBy: [{ via, assetId: target.id }] };
    }
    return this.secondHop(targets, via);
  }

  private secondHop(targets: readonly GraphAsset[], via: ResolvedBy['via']): Resolved | undefined {
    for (const target of targets) {
      for (const next of this.graph.targets(target, 'algorithm', 'dependsOn')) {
        const ingredients = this.own(next.component);
        if (ingredients.length === 0) continue;
        const resolvedBy: ResolvedBy[] = [
          { via, assetId: target.id },
          { via: 'dependsOn', assetId: next.id },
        ];
        return { ingredients: this.lists.ofKey(ingredients), resolvedBy };
      }
    }
    return undefined;
  }

  /** The algorithms of assets that another one refers to, mostly of one. */
  private near(assets: readonly GraphAsset[]): readonly Ingredient[] {
    const [first] = assets;
    if (first === undefined) return NONE;
    return assets.length === 1 ? this.partsOf(first) : assets.flatMap((asset) => this.partsOf(asset));
  }

  private partsOf(asset: GraphAsset): readonly Ingredient[] {
    const { kind, component } = asset;
    const own = kind === 'algorithm' ? this.own(component) : NONE;
    if (own.length > 0) return own;
    return this.lists.sized(
      this.inherited(asset).ingredients,
      component.cryptoProperties?.relatedCryptoMaterialProperties?.['size'],
    );
  }

  private own(component: CdxComponent): readonly Ingredient[] {
    return this.named(component).ingredients;
  }

  /** Assets of the same facts have the same subject: most share their list of ingredients, and what else is told is short. */
  private subjectOf({ kind }: GraphAsset, { ingredients, resolvedBy }: Resolved, more: Told): ReadSubject {
    const known = this.subjects(ingredients);
    let key: string = kind;
    for (const name of TOLD) if (isTold(more[name])) key += ` ${name} ${JSON.stringify(more[name])}`;
    let subject = known.get(key);
    if (subject === undefined) {
      const told = Object.fromEntries(TOLD.filter((name) => isTold(more[name])).map((name) => [name, more[name]]));
      subject = { kind, ingredients, ...told };
      known.set(key, subject);
    }
    return { subject, resolvedBy };
  }
}

type Told = Omit<RiskSubject, 'kind' | 'ingredients'>;
const TOLD: readonly (keyof Told)[] = [
  'protocol',
  'material',
  'certificate',
  'quality',
  'selfSignedRoot',
  'notApplicable',
];

/** What is empty or false is not told. */
function isTold(value: Told[keyof Told]): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
}
