import type { AssetKind } from './asset-kind.js';
import type { RelationshipKind } from './asset-relationship.entity.js';
import type { DraftRefs } from './draft-refs.js';

/** CdxComponent is a CycloneDX component. Its content was validated against the schema, or by the reader that created the component. */
export interface CdxComponent {
  type: string;
  name: string;
  version?: string;
  group?: string;
  purl?: string;
  cryptoProperties?: CryptoProperties;
  properties?: { name: string; value?: string }[];
  hashes?: { alg: string; content: string }[];
  [member: string]: unknown;
}

export interface CryptoProperties {
  assetType: string;
  oid?: string;
  algorithmProperties?: AlgorithmProperties;
  certificateProperties?: Record<string, unknown>;
  relatedCryptoMaterialProperties?: Record<string, unknown>;
  protocolProperties?: Record<string, unknown>;
}

export interface AlgorithmProperties {
  primitive?: string;
  parameterSetIdentifier?: string;
  curve?: string;
  /** Replaces `curve` in CycloneDX 1.7: registry and name, such as `secg/secp521r1`. */
  ellipticCurve?: string;
  /** Algorithm family (CycloneDX 1.7). */
  algorithmFamily?: string;
  mode?: string;
  padding?: string;
  cryptoFunctions?: string[];
  nistQuantumSecurityLevel?: number;
  [member: string]: unknown;
}

export interface DraftOccurrence {
  readonly location: string;
  readonly line: number | null;
  readonly position: number | null;
  readonly symbol: string | null;
  readonly context: string | null;
}

/** DraftAsset is an asset in a document before its identity is determined. `ref` is the name of the asset within the document. */
export interface DraftAsset {
  readonly ref: string;
  readonly kind: AssetKind;
  readonly component: CdxComponent;
  readonly occurrences: DraftOccurrence[];
  /** Links, possibly with duplicates. Links to targets that are not assets in the document are dropped later. */
  readonly links: DraftLink[];
  /** Whether the component was parsed from the certificate or public key whose hash identifies the asset, rather than copied from the document. */
  readonly isProven?: boolean;
}

export interface DraftLink {
  /** Ref of the target within the document. */
  readonly to: string;
  readonly kind: RelationshipKind;
}

/** DraftHead is the metadata of a document of any format. */
export interface DraftHead {
  readonly format: string;
  readonly serialNumber: string | null;
  readonly version: number | null;
  readonly time: string | null;
  /** Name of the described application or repository; undefined if the document does not contain a name. */
  readonly source: string | undefined;
  /** True for a complete document: assets missing from the document no longer exist. False for a partial scan. */
  readonly whole: boolean;
  /** Locations that the document replaces, if the document is complete for one tool; undefined if the document covers the whole source. */
  readonly replaces?: Replaced;
}

/** Replaced selects the locations of a source that a document replaces, by context prefix. */
export interface Replaced {
  readonly contexts: readonly string[];
  /** Context prefixes in the previous version's format. Each prefix applies until another document from the source uses the prefix. */
  readonly former: readonly string[];
}

/** Draft is the content of a document. Counts, repairs and warnings are complete once its assets have been iterated. */
export interface Draft extends DraftHead {
  /**
   * Yields the assets. The result can be iterated only once, because some formats read assets on demand. Links from an asset that are in another part of the
   * document are added to the asset's name in `refs`.
   *
   * @throws Problem if the document must be rejected, at any time until the last asset.
   */
  assets(refs: DraftRefs): Iterable<DraftAsset>;
  received: number;
  ignored: number;
  readonly rejected: Rejection[];
  readonly repairs: Remark[];
  readonly warnings: Remark[];
}

/**
 * CheckedDocument is a document whose lists have not been read yet. `draft` reads the lists. It is not called if the source's newest document is known to have
 * the same lists.
 */
export interface CheckedDocument extends DraftHead {
  /** Hash of the content, without the members that differ in each edition of a document; undefined for formats that are always read completely. */
  readonly said: Buffer | undefined;
  /** Repairs outside of the lists. */
  readonly repairs: readonly Remark[];
  draft(): Draft;
}

/**
 * keptMemberName returns the name of the property that preserves a member which CycloneDX 1.6 cannot express. `path` is the path of the member in the
 * component.
 */
export function keptMemberName(path: string): string {
  return `sealwright:cyclonedx:${path}`;
}

/** Path of the CycloneDX 1.7 algorithm family. The family is preserved if the name of the algorithm does not imply the family. */
export const ALGORITHM_FAMILY = 'cryptoProperties.algorithmProperties.algorithmFamily';

/** keptMember returns the member at `path` that `asVersion16` removed from a component, or undefined if no member was removed. */
export function keptMember({ properties }: CdxComponent, path: string): unknown {
  const kept = properties?.find(({ name }) => name === keptMemberName(path))?.value;
  if (kept === undefined) return undefined;
  try {
    return JSON.parse(kept);
  } catch {
    return undefined;
  }
}

/** Rejection is one rejected item. `index` is the index of the item in the submitted list, starting at 0. */
export interface Rejection {
  readonly index: number;
  /** JSON Pointer (RFC 6901) into the body. */
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** Remark describes a repair (in repair mode) or a warning. The rest of the document was stored. */
export interface Remark {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** IngestOutcome is the result of an ingest. received = created + updated + unchanged + rejected, where two entries for one asset count as one change. */
export interface IngestOutcome {
  readonly documentId: string;
  readonly source: string;
  readonly format: string;
  readonly received: number;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Number of components without any connection to cryptography, which are not stored. */
  readonly ignored: number;
  readonly rejected: readonly Rejection[];
  readonly repairs: readonly Remark[];
  readonly warnings: readonly Remark[];
}
