import type { AssetKind } from './asset-kind.js';

export type AlgorithmPurpose = 'key-establishment' | 'encryption' | 'signature' | 'unknown';

/** AlgorithmUse is one algorithm with the facts that rules use. A name like SHA256withRSA contains two algorithms. Sizes are in bits. */
export interface AlgorithmUse {
  readonly family: string;
  /** Size of the key, modulus or digest. */
  readonly bits: number | null;
  readonly curveBits: number | null;
  /** Parameter set of a post-quantum algorithm, such as 768, 65 or SHA2-128s. */
  readonly param: string | null;
  readonly purpose: AlgorithmPurpose;
  /**
   * Scheme that a hash or cipher is part of. `password` and `derivation`: a hash alone that stores passwords or derives keys; `reduced`: a variant with fewer
   * rounds or private changes.
   */
  readonly usage: 'signature' | 'mac' | 'kdf' | 'password' | 'derivation' | 'reduced' | null;
  readonly mode: string | null;
  readonly padding: string | null;
  /** Hash inside a MAC. */
  readonly hash: string | null;
  /** Name of a hybrid, which is classified as a whole. */
  readonly hybrid: string | null;
  /** The classical and post-quantum algorithms of a hybrid. */
  readonly parts?: readonly AlgorithmUse[];
}

export interface ProtocolFacts {
  readonly type: string;
  readonly version: string | null;
  readonly suites: readonly string[];
  /** Whether the key exchange withstands Shor's algorithm: it has a post-quantum part or uses pre-shared keys alone. Null if no key exchange is declared. */
  readonly kePq: boolean | null;
}

/** RiskSubject contains the time-independent facts on which a verdict depends. */
export interface RiskSubject {
  readonly kind: AssetKind;
  readonly ingredients: readonly AlgorithmUse[];
  readonly protocol?: ProtocolFacts;
  /** Conditions on keys and other material, as named by the rules. */
  readonly material?: readonly string[];
  /** Conditions on certificates. */
  readonly certificate?: readonly string[];
  readonly quality?: readonly string[];
  /** Names of algorithms that were not recognized, or not well enough to be classified as safe. Users can define them. */
  readonly unread?: readonly string[];
  /** Algorithm under which the asset is listed if it is not the first by rank: the key of a certificate. */
  readonly main?: AlgorithmUse;
  readonly selfSignedRoot?: boolean;
  /** Whether no verdict applies, as for a salt, which is neither safe nor unsafe. */
  readonly notApplicable?: boolean;
}

/** ResolvedBy is one step from an asset to the algorithm that determines its verdict. */
export interface ResolvedBy {
  readonly via: 'reference' | 'dependsOn' | 'usedBy' | 'name';
  /** Asset ID; undefined for the asset's own name. */
  readonly assetId?: string;
}
