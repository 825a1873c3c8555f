import type { AssetKind } from './asset-kind.js';
import type { RelationshipKind } from './asset-relationship.entity.js';
import type { DraftRefs } from './draft-refs.js';

/** CdxComponent is a CycloneDX component as read. Its content was checked by the schema or by the reader that created it. */
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
  /** CycloneDX 1.7, replacing `curve`: registry and name, such as `secg/secp521r1`. */
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

/** DraftAsset is an asset of a document before it has an identity. `ref` is its name within the document. */
export interface DraftAsset {
  readonly ref: string;
  readonly kind: AssetKind;
  readonly component: CdxComponent;
  readonly occurrences: DraftOccurrence[];
  /** Links, some repeated. Links to targets that are not assets of the document are dropped later. */
  readonly links: DraftLink[];
  /** Whether the component was read from the bytes of a certificate or public key whose hash identifies it, rather than stated by the document. */
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
  /** Name of the described application or repository; undefined if the document does not state it. */
  readonly source: string | undefined;
  /** True for a complete document, whose missing assets no longer exist; false for a partial scan. */
  readonly whole: boolean;
  /** Present in a complete document that covers one of its source's tools; undefined if it covers the whole source. */
  readonly replaces?: Replaced;
}

/** Replaced describes the locations of a source that a document replaces, by the prefix of their context. */
export interface Replaced {
  readonly contexts: readonly string[];
  /** Contexts as written by the previous version. Each counts until a document of the source uses it. */
  readonly former: readonly string[];
}

/** Draft is the content of a document. Counts, repairs and warnings are complete once its assets have been iterated. */
export interface Draft extends DraftHead {
  /**
   * Yields the assets. Can be iterated once, because some formats read assets on demand. Links that an asset does not state itself are added to its
   * name in `refs`.
   *
   * @throws Problem with which the document is rejected, at any time until the last asset.
   */
  assets(refs: DraftRefs): Iterable<DraftAsset>;
  received: number;
  ignored: number;
  readonly rejected: Rejection[];
  readonly repairs: Remark[];
  readonly warnings: Remark[];
}

/**
 * CheckedDocument is a document whose lists have not been read yet. `draft` reads them, unless the newest document of the source is known to have the same
 * lists.
 */
export interface CheckedDocument extends DraftHead {
  /** Hash of the content, without the members that differ in each edition of a document; undefined for formats that are read as a whole. */
  readonly said: Buffer | undefined;
  /** Repairs outside of the lists. */
  readonly repairs: readonly Remark[];
  draft(): Draft;
}

/** keptMemberName returns the name of the property that keeps a member which CycloneDX 1.6 cannot express, from the path of the member in its component. */
export function keptMemberName(path: string): string {
  return `sealwright:cyclonedx:${path}`;
}

/** Path of the CycloneDX 1.7 algorithm family, which is kept if the name of the algorithm does not imply it. */
export const ALGORITHM_FAMILY = 'cryptoProperties.algorithmProperties.algorithmFamily';

/** keptMember returns a member that `asVersion16` has removed from a component, by its path, or undefined if there is none. */
export function keptMember({ properties }: CdxComponent, path: string): unknown {
  const kept = properties?.find(({ name }) => name === keptMemberName(path))?.value;
  if (kept === undefined) return undefined;
  try {
    return JSON.parse(kept);
  } catch {
    return undefined;
  }
}

/** Rejection is one rejected item. `index` counts from 0 in the submitted list. */
export interface Rejection {
  readonly index: number;
  /** JSON Pointer (RFC 6901) into the body. */
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** Remark describes something that was repaired (repair mode) or deserves attention. The rest of the document was stored. */
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
