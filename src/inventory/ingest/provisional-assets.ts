import { keptMember, type CdxComponent, type DraftAsset } from '../model/document.js';
import { isMembers } from '../model/json.js';
import { hashId, PUBLIC_KEY_PROPERTY } from '../model/asset-identity.js';
import { furtherFacts, materialFingerprint, statedSha256 } from '../model/certificate-identity.js';
import type { IdentifiedAsset } from './asset-rows.js';
import type { DraftRef, DraftRefs } from '../model/draft-refs.js';

/** Looks up components of the inventory by the ids of their assets. */
export type KnownComponents = (ids: readonly string[]) => Promise<ReadonlyMap<string, CdxComponent>>;
type Components = ReadonlyMap<string, CdxComponent>;
const NONE: Components = new Map();
const RELATED = 'cryptoProperties.certificateProperties.relatedCryptographicAssets';

/** A certificate or key that has the identity of the version before, until the whole document is read. */
interface Provisional {
  readonly asset: IdentifiedAsset;
  /** The id by a fingerprint; undefined without one: then its names and what it refers to decide. */
  readonly own: string | undefined;
  /** The id by its names and times. */
  readonly named: string;
  readonly further: string;
  readonly signature: DraftRef<IdentifiedAsset> | undefined;
  readonly key: DraftRef<IdentifiedAsset> | undefined;
}

/**
 * Assets of a document that get their identity last (decision 91). A certificate without SHA-256 is identified by the algorithm that signed it,
 * its key, its serial number and the like as well as by its names and times; a key by the fingerprint that CycloneDX 1.7 states. One that the
 * version before stored under its names alone keeps that identity, as long as documents state the same of it.
 */
export class ProvisionalAssets {
  private readonly all: Provisional[] = [];
  /** What identifies a key without an identity of its own, apart from its place. */
  private readonly looks = new Map<IdentifiedAsset, string>();

  constructor(private readonly refs: DraftRefs<IdentifiedAsset>) {}

  /** To be called for each asset that has an identity of its own. */
  add(asset: IdentifiedAsset, { kind, component }: DraftAsset): void {
    if (kind === 'certificate') this.addCertificate(asset, component);
    else if (kind === 'related-crypto-material') this.addKey(asset, component);
  }

  /** To be called for each asset without one. @param look hash of what it is, apart from its place. */
  addLook(asset: IdentifiedAsset, look: string): void {
    this.looks.set(asset, look);
  }

  /** Gives each its identity. @param known looks up assets by their identities of the version before. */
  async settle(known: KnownComponents): Promise<void> {
    if (this.all.length === 0) return;
    this.rename(await known([...new Set(this.all.map(({ asset }) => asset.id))]));
  }

  /** As `settle`, for a document that is not compared with the inventory. */
  settleAlone(): void {
    this.rename(NONE);
  }

  /** Keys first: certificates refer to them. */
  private rename(former: Components): void {
    const isKey = ({ asset }: Provisional) => asset.kind !== 'certificate';
    for (const one of [...this.all.filter(isKey), ...this.all.filter((other) => !isKey(other))]) {
      const before = former.get(one.asset.id);
      const stays = before !== undefined && this.isSame(one, before);
      if (!stays) one.asset.rename(one.own ?? this.idOf(one));
    }
    this.all.length = 0;
  }

  private addCertificate(asset: IdentifiedAsset, component: CdxComponent): void {
    const sha256 = statedSha256(component);
    const own = sha256 === undefined ? undefined : hashId('asset', 'certificate', 'sha256', sha256);
    if (own === asset.id) return;
    const facts = component.cryptoProperties?.certificateProperties ?? {};
    const [signature, key] = [this.ref(facts['signatureAlgorithmRef']), this.ref(facts['subjectPublicKeyRef'])];
    const further = furtherFacts(component);
    if (own === undefined && signature === undefined && key === undefined && further === '') return;
    this.all.push({ asset, own, named: asset.id, further, signature, key });
  }

  private addKey(asset: IdentifiedAsset, component: CdxComponent): void {
    const own = keyId(component);
    if (own !== undefined && own !== asset.id)
      this.all.push({ asset, own, named: '', further: '', signature: undefined, key: undefined });
  }

  private ref(name: unknown): DraftRef<IdentifiedAsset> | undefined {
    return typeof name === 'string' && name !== '' ? this.refs.of(name) : undefined;
  }

  /** A reference to nothing in the document does not count: it is a name of this document alone. */
  private idOf({ named, further, signature, key }: Provisional): string {
    const signed = signature?.asset?.id;
    const keyOf = key?.asset === undefined ? undefined : (this.looks.get(key.asset) ?? key.asset.id);
    if (signed === undefined && keyOf === undefined && further === '') return named;
    return hashId('asset', 'certificate', 'told', named, signed, keyOf, further);
  }

  /** Whether the component in the inventory states the same of what identifies such assets. */
  private isSame({ asset, own, further, signature, key }: Provisional, before: CdxComponent): boolean {
    if (asset.kind !== 'certificate') return keyId(before) === own;
    const facts = before.cryptoProperties?.certificateProperties;
    if (!isMembers(facts)) return false;
    const sha256 = statedSha256(before);
    const ownBefore = sha256 === undefined ? undefined : hashId('asset', 'certificate', 'sha256', sha256);
    // The version before did not read what 1.7 states about it.
    const isUnread = keptMember(before, RELATED) !== undefined;
    const isTo = (ref: DraftRef<IdentifiedAsset> | undefined, stored: unknown) =>
      stored === (ref?.asset?.id ?? ref?.name) || (stored === undefined && isUnread);
    return (
      ownBefore === own &&
      furtherFacts(before) === further &&
      isTo(signature, facts['signatureAlgorithmRef']) &&
      isTo(key, facts['subjectPublicKeyRef'])
    );
  }
}

/** The id of a key or other material by the fingerprint that CycloneDX 1.7 states; undefined without one. */
export function keyId(component: CdxComponent): string | undefined {
  const fingerprint = materialFingerprint(component);
  if (fingerprint === undefined || component.properties?.some(({ name }) => name === PUBLIC_KEY_PROPERTY) === true)
    return undefined;
  const { type } = component.cryptoProperties?.relatedCryptoMaterialProperties ?? {};
  return hashId('asset', 'related-crypto-material', 'fingerprint', type, ...fingerprint);
}
