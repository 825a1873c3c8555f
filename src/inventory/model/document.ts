import type { AssetKind } from './asset-kind.js';
import type { RelationshipKind } from './asset-relationship.entity.js';
import type { DraftRefs } from './draft-refs.js';

/** A CycloneDX component as it was read; what is in it was checked by the schema or by the reader that made it. */
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
  /** CycloneDX 1.7, in place of `curve`: registry and name, as in `secg/secp521r1`. */
  ellipticCurve?: string;
  /** CycloneDX 1.7. */
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

/** An asset of a document before it has an identity. `ref` is its name within the document. */
export interface DraftAsset {
  readonly ref: string;
  readonly kind: AssetKind;
  readonly component: CdxComponent;
  readonly occurrences: DraftOccurrence[];
  /** Its links, some more than once. Those to something that is no asset of the document are dropped later. */
  readonly links: DraftLink[];
}

export interface DraftLink {
  /** A ref of the document. */
  readonly to: string;
  readonly kind: RelationshipKind;
}

/** The metadata of a document of any format. */
export interface DraftHead {
  readonly format: string;
  readonly serialNumber: string | null;
  readonly version: number | null;
  readonly time: string | null;
  /** Name of what the document describes; undefined when it does not name it. */
  readonly source: string | undefined;
  /** true: assets that are not in it are gone. false: a part of a scan. */
  readonly whole: boolean;
  /** Present in a whole document that covers one of several tools of its source; absent when it covers the source. */
  readonly replaces?: Replaced;
}

/** Places at a source that a document replaces, by what their contexts start with. */
export interface Replaced {
  readonly contexts: readonly string[];
  /** Contexts as the version before wrote them; they count as long as no document of the source has used one of them since. */
  readonly former: readonly string[];
}

/** The content of a document. Counts, repairs and warnings are complete when its assets have been iterated. */
export interface Draft extends DraftHead {
  /**
   * To be iterated once: some formats read assets as they are asked for. Links that an asset does not state itself are added to its name
   * in `refs`.
   *
   * @throws Problem why the document is refused, at any time until the last asset.
   */
  assets(refs: DraftRefs): Iterable<DraftAsset>;
  received: number;
  ignored: number;
  readonly rejected: Rejection[];
  readonly repairs: Remark[];
  readonly warnings: Remark[];
}

/** A document whose lists were not read yet: `draft` reads them, unless the newest document of the source is known to have the same. */
export interface CheckedDocument extends DraftHead {
  /** Hash of its content, without the members that differ in each edition of a document; undefined for formats that are read as a whole. */
  readonly said: Buffer | undefined;
  /** Repairs outside of its lists. */
  readonly repairs: readonly Remark[];
  draft(): Draft;
}

/** Name of the property that keeps a member which CycloneDX 1.6 cannot express, by the path of the member in its component. */
export function keptMemberName(path: string): string {
  return `sealwright:cyclonedx:${path}`;
}

/** The place of a family of CycloneDX 1.7 that the name of an algorithm does not say. */
export const ALGORITHM_FAMILY = 'cryptoProperties.algorithmProperties.algorithmFamily';

/** A member that `asVersion16` has taken out of a component, by its path; undefined when there was none. */
export function keptMember({ properties }: CdxComponent, path: string): unknown {
  const kept = properties?.find(({ name }) => name === keptMemberName(path))?.value;
  if (kept === undefined) return undefined;
  try {
    return JSON.parse(kept);
  } catch {
    return undefined;
  }
}

/** One item that was refused. `index` counts from 0 in the list that was sent. */
export interface Rejection {
  readonly index: number;
  /** RFC 6901, into the body. */
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** Something that was repaired (repair mode) or that deserves a look; the rest of the document was stored. */
export interface Remark {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** received = created + updated + unchanged + rejected: two entries for one asset count as one change. */
export interface IngestOutcome {
  readonly documentId: string;
  readonly source: string;
  readonly format: string;
  readonly received: number;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Components without any tie to cryptography: counted, not stored. */
  readonly ignored: number;
  readonly rejected: readonly Rejection[];
  readonly repairs: readonly Remark[];
  readonly warnings: readonly Remark[];
}
