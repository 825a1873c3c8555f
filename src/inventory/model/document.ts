import type { AssetKind } from './asset-kind.js';
import type { RelationshipKind } from './asset-relationship.entity.js';
import type { DraftRefs } from './draft-refs.js';
import type { Rejection, Remark } from './ingest-outcome.js';

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

/** An asset as a document tells it, before it has an identity. `ref` is its name within the document. */
export interface DraftAsset {
  readonly ref: string;
  readonly kind: AssetKind;
  readonly component: CdxComponent;
  readonly occurrences: DraftOccurrence[];
  /** What it leads to; some of it more than once. One that leads to no asset of the document is no link. */
  readonly links: DraftLink[];
}

export interface DraftLink {
  /** A ref of the document. */
  readonly to: string;
  readonly kind: RelationshipKind;
}

/** What a document says about itself, whatever its format. */
export interface DraftHead {
  readonly format: string;
  readonly serialNumber: string | null;
  readonly version: number | null;
  readonly time: string | null;
  /** Name of what the document describes; undefined when it says nothing about that. */
  readonly source: string | undefined;
  /** true: what is not in it is gone. false: a part of a scan. */
  readonly whole: boolean;
  /** Of a whole document that speaks for one of several tools at its source; absent when it speaks for the source. */
  readonly replaces?: Replaced;
}

/** Places at a source that a document replaces, by what their contexts start with. */
export interface Replaced {
  readonly contexts: readonly string[];
  /** As the version before wrote them; they count as long as no document of the source has used one of them since. */
  readonly former: readonly string[];
}

/** What a document says. Counts, repairs and warnings are whole when its assets have been gone through. */
export interface Draft extends DraftHead {
  /**
   * Some are made when they are asked for: gone through once. What leads from one to another is told by the names in `refs`, if an asset
   * does not tell it itself.
   *
   * @throws Problem what the document is refused for, at any time until the last.
   */
  assets(refs: DraftRefs): Iterable<DraftAsset>;
  received: number;
  ignored: number;
  readonly rejected: Rejection[];
  readonly repairs: Remark[];
  readonly warnings: Remark[];
}

/** A document as far as it was read. The rest is read when the draft is asked for: the newest may say what is known. */
export interface CheckedDocument extends DraftHead {
  /** Hash of all that it says, apart from what each edition of a document says about itself; undefined where it is not worth it. */
  readonly said: Buffer | undefined;
  /** But for its lists. */
  readonly repairs: readonly Remark[];
  draft(): Draft;
}
