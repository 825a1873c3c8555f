import { hashId, protocolIdentity, PUBLIC_KEY_PROPERTY } from '../../model/asset-identity.js';
import { furtherFacts, materialFingerprint, statedSha256 } from '../../model/certificate-identity.js';
import { type CdxComponent, type DraftAsset, keptMember } from '../../model/document.js';
import type { DraftRef, DraftRefs } from '../../model/draft-refs.js';
import { isMembers } from '../../model/json.js';
import type { IdentifiedAsset } from './asset-rows.js';
import {
  idsWithReferences,
  isToldByReferences,
  type PartIds,
  type ReferringAsset,
  targetsOf,
} from './referring-assets.js';

/** KnownAsset is an asset in the inventory. */
export interface KnownAsset {
  readonly component: CdxComponent;
  /** IDs of the algorithms and keys to which the asset refers in any source. Empty if the asset's references are not needed. */
  readonly uses: readonly string[];
}

/** KnownAssets looks up assets in the inventory by id. `referring` contains the ids of assets whose references are needed. */
export type KnownAssets = (
  ids: readonly string[],
  referring: readonly string[],
) => Promise<ReadonlyMap<string, KnownAsset>>;
type Known = ReadonlyMap<string, KnownAsset>;
const NONE: Known = new Map();
const RELATED = 'cryptoProperties.certificateProperties.relatedCryptographicAssets';

/** A certificate that keeps the ID computed by the previous version of the service until the whole document has been read. */
interface ProvisionalCertificate extends ReferringAsset {
  /** ID derived from the fingerprint. Undefined without a fingerprint, in which case names and references identify the certificate. */
  readonly own: string | undefined;
  readonly further: string;
  readonly signature: DraftRef<IdentifiedAsset> | undefined;
  readonly key: DraftRef<IdentifiedAsset> | undefined;
}

/**
 * ProvisionalAssets determines the identity of assets that can be identified only at the end of a document (docs/decisions/0091 and 0105). A key is
 * identified by its fingerprint in CycloneDX 1.7. A certificate without a SHA-256 fingerprint is identified by names and validity, and also by signature
 * algorithm, key, serial number and similar facts. A protocol, or an algorithm whose name has no known meaning, is identified by the algorithms to which it
 * refers. An asset that an older version stored with fewer facts keeps its identity as long as documents contain the same facts about the asset.
 */
export class ProvisionalAssets {
  private readonly keys: { readonly asset: IdentifiedAsset; readonly own: string }[] = [];
  private readonly certificates: ProvisionalCertificate[] = [];
  private readonly protocols: ReferringAsset[] = [];
  private algorithms: ReferringAsset[] = [];
  /** For each key without a fingerprint or ID: hash of the key's facts, excluding its location. */
  private readonly looks = new Map<IdentifiedAsset, string>();
  /** Previous ids of renamed assets, if the document is compared with the inventory. */
  private readonly former = new Map<IdentifiedAsset, string>();

  constructor(private readonly refs: DraftRefs<IdentifiedAsset>) {}

  /** Adds an asset that can be identified without its location. */
  add(asset: IdentifiedAsset, draft: DraftAsset): void {
    const { ref: name, kind, component } = draft;
    if (kind === 'related-crypto-material') {
      const own = keyId(component);
      if (own !== undefined && own !== asset.id) this.keys.push({ asset, own });
    } else if (kind === 'certificate') this.addCertificate(asset, draft);
    else if (kind === 'algorithm') this.algorithms.push({ asset, ref: this.refs.of(name), base: asset.id });
    else if (kind === 'protocol') {
      const base = hashId('asset', ...protocolIdentity(draft));
      this.protocols.push({ asset, ref: this.refs.of(name), base });
    }
  }

  /** Adds an asset that cannot be identified without its location. @param look hash of the asset's facts, excluding the location */
  addLook(asset: IdentifiedAsset, look: string): void {
    this.looks.set(asset, look);
  }

  /** Determines the identity of each asset. @param known looks up assets by the ids that the previous version computed */
  async settle(known: KnownAssets): Promise<void> {
    const all = this.provisional();
    if (all.length === 0) return;
    const referring = [...this.algorithms, ...this.protocols, ...this.certificates.filter(isBare)];
    this.rename(await known(distinctIds(all), distinctIds(referring)));
  }

  /** Like `settle`, but for a document that is not compared with the inventory. */
  settleAlone(): void {
    if (this.provisional().length > 0) this.rename(NONE);
  }

  private provisional(): { readonly asset: IdentifiedAsset }[] {
    this.algorithms = this.algorithms.filter(isToldByReferences);
    return [...this.keys, ...this.algorithms, ...this.protocols, ...this.certificates];
  }

  /** Assigns the final ids. Keys and algorithms are renamed first, because the other assets refer to them. */
  private rename(known: Known): void {
    const give = (asset: IdentifiedAsset, id: string) => {
      if (id === asset.id) return;
      if (known.size > 0) this.former.set(asset, asset.id);
      asset.rename(id);
    };
    for (const { asset, own } of this.keys.splice(0)) {
      const before = known.get(asset.id);
      if (before === undefined || keyId(before.component) !== own) give(asset, own);
    }
    const certificates = this.certificates.splice(0);
    const bare = certificates.filter(isBare).map((one) => ({ ...one, base: this.namedId(one) }));
    const referring = [...this.algorithms.splice(0), ...this.protocols.splice(0)];
    const ids = idsWithReferences([...referring, ...bare], this.looks);
    for (const one of referring) {
      const before = known.get(one.asset.id);
      one.asset.isReferring = true;
      if (before === undefined || !this.usesSame(one, before)) give(one.asset, ids.get(one.asset) ?? one.base);
    }
    for (const one of certificates) {
      const before = known.get(one.asset.id);
      if (one.own === undefined) one.asset.isReferring = true;
      if (before === undefined || !this.isSame(one, before))
        give(one.asset, one.own ?? ids.get(one.asset) ?? this.namedId(one, ids));
    }
  }

  private addCertificate(asset: IdentifiedAsset, { ref: name, component }: DraftAsset): void {
    const sha256 = statedSha256(component);
    const own = sha256 === undefined ? undefined : hashId('asset', 'certificate', 'sha256', sha256);
    if (own === asset.id) return;
    const facts = component.cryptoProperties?.certificateProperties ?? {};
    const [signature, key] = [this.ref(facts['signatureAlgorithmRef']), this.ref(facts['subjectPublicKeyRef'])];
    const ref = this.refs.of(name);
    this.certificates.push({ asset, ref, base: asset.id, own, further: furtherFacts(component), signature, key });
  }

  private ref(name: unknown): DraftRef<IdentifiedAsset> | undefined {
    return typeof name === 'string' && name !== '' ? this.refs.of(name) : undefined;
  }

  /**
   * Returns the id of a certificate that is identified by names. Dangling references are ignored, because a bom-ref has no meaning outside its document.
   */
  private namedId({ base, further, signature, key }: ProvisionalCertificate, ids?: PartIds): string {
    const partOf = (part: IdentifiedAsset | undefined) =>
      part === undefined ? undefined : (ids?.get(part) ?? this.looks.get(part) ?? part.id);
    const [signed, keyOf] = [partOf(signature?.asset), partOf(key?.asset)];
    if (signed === undefined && keyOf === undefined && further === '') return base;
    return hashId('asset', 'certificate', 'told', base, signed, keyOf, further);
  }

  /** Reports whether the stored asset has the same references. */
  private usesSame(one: ReferringAsset, { uses }: KnownAsset): boolean {
    const targets = new Map<string, string>();
    for (const target of targetsOf(one)) targets.set(target.id, this.former.get(target) ?? target.id);
    const stored = new Set(uses);
    return stored.size === targets.size && [...targets].every(([id, former]) => stored.has(id) || stored.has(former));
  }

  /** Reports whether the stored component contains the same identifying facts as the certificate. */
  private isSame(certificate: ProvisionalCertificate, before: KnownAsset): boolean {
    const { own, further, signature, key } = certificate;
    const facts = before.component.cryptoProperties?.certificateProperties;
    if (!isMembers(facts)) return false;
    const sha256 = statedSha256(before.component);
    const ownBefore = sha256 === undefined ? undefined : hashId('asset', 'certificate', 'sha256', sha256);
    // The previous version did not read references in the CycloneDX 1.7 format.
    const isUnread = keptMember(before.component, RELATED) !== undefined;
    const isTo = (ref: DraftRef<IdentifiedAsset> | undefined, stored: unknown) =>
      this.names(ref).includes(stored) || (stored === undefined && isUnread);
    return (
      ownBefore === own &&
      furtherFacts(before.component) === further &&
      isTo(signature, facts['signatureAlgorithmRef']) &&
      isTo(key, facts['subjectPublicKeyRef']) &&
      (own !== undefined || !isBare(certificate) || this.usesSame(certificate, before))
    );
  }

  /** Returns the names by which a stored component may refer to the target of a reference. */
  private names(ref: DraftRef<IdentifiedAsset> | undefined): readonly unknown[] {
    if (ref?.asset === undefined) return [ref?.name];
    return [ref.asset.id, this.former.get(ref.asset)].filter((id) => id !== undefined);
  }
}

function distinctIds(all: readonly { readonly asset: IdentifiedAsset }[]): string[] {
  return [...new Set(all.map(({ asset }) => asset.id))];
}

/** Reports whether the certificate has no references to its signature algorithm and key except dependencies. */
function isBare({ own, signature, key }: ProvisionalCertificate): boolean {
  return own === undefined && signature?.asset === undefined && key?.asset === undefined;
}

/** keyId returns the ID of a key or other material, derived from the fingerprint in CycloneDX 1.7. Undefined without a fingerprint. */
export function keyId(component: CdxComponent): string | undefined {
  const fingerprint = materialFingerprint(component);
  if (fingerprint === undefined || component.properties?.some(({ name }) => name === PUBLIC_KEY_PROPERTY) === true)
    return undefined;
  const { type } = component.cryptoProperties?.relatedCryptoMaterialProperties ?? {};
  return hashId('asset', 'related-crypto-material', 'fingerprint', type, ...fingerprint);
}
