import { bareOid, propertyOf, WITHHELD_PROPERTY } from '../ingest/asset-identity.js';
import { textOf } from '../cyclonedx/json-values.js';
import type { CdxComponent } from '../ingest/draft.js';
import { OIDS } from './algorithm-patterns.js';
import { ingredientsOf } from './algorithm-reader.js';
import type { AssetGraph, GraphAsset } from './asset-graph.js';
import { certificateConditions } from './certificate-conditions.js';
import { claimConflict } from './claims.js';
import { madeOnce } from './made-once.js';
import { protocolFacts } from './protocol-facts.js';
import type { Ingredient, ResolvedBy, RiskSubject } from './risk-subject.js';

/** Material that is used with an algorithm as a key is. */
const KEYS = new Set(['private-key', 'public-key', 'secret-key', 'key', 'shared-secret', 'other', 'unknown']);
/** Most algorithms that one asset inherits from: a verdict names the weakest, not all. */
const MOST_INHERITED = 200;
const NONE: readonly Ingredient[] = [];
const ON_CURVE = new Set(['EC', 'ECDSA', 'ECDH', 'EdDSA', 'XDH']);

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
  private readonly own = madeOnce((component: CdxComponent) => this.named(component));
  private readonly ofNames = new Map<string, readonly Ingredient[]>();
  private readonly subjects = madeOnce((_: readonly Ingredient[]) => new Map<string, RiskSubject>());

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
    const own = this.own(asset.component);
    const quality: string[] = [];
    const byOid = ingredientsOf(OIDS[bareOid(asset.component.cryptoProperties?.oid) ?? ''] ?? '');
    const named = ingredientsOf(asset.component.name, asset.component.cryptoProperties?.algorithmProperties);
    if (named.length > 0 && byOid.length > 0 && !related(named, byOid)) quality.push('name-contradicts-oid');
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
    const resolved = { ingredients: sized(ingredients, facts['size']), resolvedBy };
    const quality = resolved.ingredients.length === 0 ? ['unknown-algorithm'] : [];
    return this.subjectOf(asset, resolved, { material, quality });
  }

  private certificate(asset: GraphAsset): ReadSubject {
    const { component } = asset;
    const signatures = this.graph.targets(asset, 'signatureAlgorithm');
    const keys = this.graph.targets(asset, 'subjectPublicKey');
    let resolved: Resolved = {
      ingredients: certificateParts(this.near(signatures))(this.near(keys)),
      resolvedBy: [...signatures, ...keys].map(({ id }) => ({ via: 'reference', assetId: id })),
    };
    if (resolved.ingredients.length === 0) {
      const { ingredients, resolvedBy } = this.inherited(asset);
      resolved = { ingredients: asCertificateKeys(ingredients), resolvedBy };
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
    const ingredients = keyParts(this.own(asset.component));
    return { ingredients, resolvedBy: ingredients.length > 0 ? [{ via: 'name' }] : null };
  }

  private resolved(via: ResolvedBy['via'], targets: readonly GraphAsset[]): Resolved | undefined {
    for (const target of targets) {
      const ingredients = this.own(target.component);
      if (ingredients.length > 0)
        return { ingredients: keyParts(ingredients), resolvedBy: [{ via, assetId: target.id }] };
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
        return { ingredients: keyParts(ingredients), resolvedBy };
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
    return sized(
      this.inherited(asset).ingredients,
      component.cryptoProperties?.relatedCryptoMaterialProperties?.['size'],
    );
  }

  private named({ name, cryptoProperties: crypto }: CdxComponent): readonly Ingredient[] {
    const key = `${name}\n${crypto?.oid ?? ''}\n${JSON.stringify(crypto?.algorithmProperties ?? null)}`;
    const known = this.ofNames.get(key);
    if (known !== undefined) return known;
    const named = ingredientsOf(name, crypto?.algorithmProperties);
    const oidName = OIDS[bareOid(crypto?.oid) ?? ''];
    const byOid = oidName === undefined ? NONE : ingredientsOf(oidName, crypto?.algorithmProperties);
    const found = named.length === 0 ? byOid : related(named, byOid) ? named : distinct([...named, ...byOid]);
    this.ofNames.set(key, found);
    return found;
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

/** A key belongs to the cipher, signature or MAC of a name, not to the hash beside it. */
const keyParts = madeOnce((ingredients: readonly Ingredient[]) => {
  const keyed = ingredients.filter(({ usage }) => usage === null);
  return keyed.length > 0 ? keyed : ingredients;
});

const certificateParts = madeOnce((signature: readonly Ingredient[]) =>
  madeOnce((key: readonly Ingredient[]) => distinct([...signature.map(asSignature), ...asCertificateKeys(key)])),
);

function asSignature(part: Ingredient): Ingredient {
  return part.purpose === 'unknown' && part.usage === null ? { ...part, purpose: 'signature', usage: null } : part;
}

/** The key of a certificate authenticates, unless its algorithm can only do something else. */
const asCertificateKeys = madeOnce((key: readonly Ingredient[]) =>
  key.map((part): Ingredient =>
    part.purpose === 'unknown' || part.purpose === 'encryption' ? { ...part, purpose: 'signature' } : part,
  ),
);

const ofSizes = madeOnce((_: readonly Ingredient[]) => new Map<number, Ingredient[]>());

function sized(parts: readonly Ingredient[], size: unknown): readonly Ingredient[] {
  if (typeof size !== 'number' || size <= 0 || parts.length === 0) return parts;
  const known = ofSizes(parts);
  let made = known.get(size);
  if (made === undefined) {
    made = parts.map((part) => withSize(part, size));
    known.set(size, made);
  }
  return made;
}

function withSize(part: Ingredient, size: number): Ingredient {
  if (ON_CURVE.has(part.family)) return part.curveBits === null ? { ...part, curveBits: size } : part;
  return part.bits === null && ['RSA', 'DSA', 'DH', 'AES'].includes(part.family) ? { ...part, bits: size } : part;
}

/** Whether a name and an OID can mean the same: RSA and SHA256withRSA do, AES and RSA do not. */
function related(a: readonly Ingredient[], b: readonly Ingredient[]): boolean {
  if (b.length === 0) return true;
  const kin = (family: string) =>
    ['EC', 'ECDSA', 'ECDH', 'ECMQV', 'ECIES'].includes(family)
      ? 'EC'
      : ['XDH', 'EdDSA'].includes(family)
        ? 'EC'
        : family;
  return a.some((x) => x.hybrid !== null || b.some((y) => kin(x.family) === kin(y.family)));
}

function distinct(parts: readonly Ingredient[]): readonly Ingredient[] {
  if (parts.length < 2) return parts;
  return [...new Map(parts.map((part) => [JSON.stringify(part), part])).values()]
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    .slice(0, MOST_INHERITED);
}
