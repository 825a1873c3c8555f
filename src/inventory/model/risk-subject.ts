import type { AssetKind } from './asset-kind.js';

export type AlgorithmPurpose = 'key-establishment' | 'encryption' | 'signature' | 'unknown';

/** AlgorithmUse is one algorithm with the facts that rules use. A name like SHA256withRSA contains two algorithms. Sizes are in bits. */
export interface AlgorithmUse {
  readonly family: string;
  /** Size of the key, modulus or digest. */
  readonly bits: number | null;
  readonly curveBits: number | null;
  /** Parameter set of a post-quantum algorithm, for example 768, 65 or SHA2-128s. */
  readonly param: string | null;
  readonly purpose: AlgorithmPurpose;
  /**
   * Scheme to which a hash or cipher belongs. `password` and `derivation`: a plain hash that is used to store passwords or derive keys; `reduced`: a variant
   * with fewer rounds or nonstandard changes.
   */
  readonly usage: 'signature' | 'mac' | 'kdf' | 'password' | 'derivation' | 'reduced' | null;
  readonly mode: string | null;
  readonly padding: string | null;
  /** Hash inside a MAC. */
  readonly hash: string | null;
  /** Name of a hybrid, which is classified as a whole. */
  readonly hybrid: string | null;
  /** Classical and post-quantum algorithms in a hybrid. */
  readonly parts?: readonly AlgorithmUse[];
}

export interface ProtocolFacts {
  readonly type: string;
  readonly version: string | null;
  readonly suites: readonly string[];
  /**
   * Whether the key exchange withstands Shor's algorithm, because it includes a post-quantum algorithm or uses only pre-shared keys. Null if no key exchange
   * is declared.
   */
  readonly kePq: boolean | null;
}

/** RiskSubject contains the time-independent facts on which a verdict depends. */
export interface RiskSubject {
  readonly kind: AssetKind;
  readonly ingredients: readonly AlgorithmUse[];
  readonly protocol?: ProtocolFacts;
  /** Names of the conditions on keys and other material that the asset meets, as used in rules. */
  readonly material?: readonly string[];
  /** Names of the conditions on certificates that the asset meets. */
  readonly certificate?: readonly string[];
  readonly quality?: readonly string[];
  /** Algorithm names that were not recognized, or not recognized precisely enough to be classified as safe. Users can define the meanings of these names. */
  readonly unread?: readonly string[];
  /** Algorithm under which the asset is listed, if different from the highest-ranked algorithm. For a certificate, this is the key's algorithm. */
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
