import type { AssetKind } from './asset-kind.js';

export type AlgorithmPurpose = 'key-establishment' | 'encryption' | 'signature' | 'unknown';

/** One algorithm as far as the rules care. A name like SHA256withRSA has two of them. Sizes are bits. */
export interface AlgorithmUse {
  readonly family: string;
  /** Key, modulus or digest size. */
  readonly bits: number | null;
  readonly curveBits: number | null;
  /** Parameter set of a post-quantum algorithm: 768, 65, SHA2-128s … */
  readonly param: string | null;
  readonly purpose: AlgorithmPurpose;
  /**
   * The scheme that a hash or cipher is part of; `password` and `derivation`: a hash alone that stores passwords or derives keys; `reduced`: a
   * variant with fewer rounds or private changes.
   */
  readonly usage: 'signature' | 'mac' | 'kdf' | 'password' | 'derivation' | 'reduced' | null;
  readonly mode: string | null;
  readonly padding: string | null;
  /** The hash inside a MAC. */
  readonly hash: string | null;
  /** Name of a hybrid, which is judged as a whole. */
  readonly hybrid: string | null;
  /** The classical and post-quantum algorithms that a hybrid is made of. */
  readonly parts?: readonly AlgorithmUse[];
}

export interface ProtocolFacts {
  readonly type: string;
  readonly version: string | null;
  readonly suites: readonly string[];
  /**
   * Whether Shor's algorithm leaves the key exchange standing: it has a post-quantum part, or rests on pre-shared keys alone. Null when
   * none is declared.
   */
  readonly kePq: boolean | null;
}

/** Facts that do not change with time: everything that a verdict depends on. */
export interface RiskSubject {
  readonly kind: AssetKind;
  readonly ingredients: readonly AlgorithmUse[];
  readonly protocol?: ProtocolFacts;
  /** Conditions on keys and other material, by the names that rules use. */
  readonly material?: readonly string[];
  /** Conditions on certificates. */
  readonly certificate?: readonly string[];
  readonly quality?: readonly string[];
  /** Names of algorithms that were not read, or not far enough to call them safe; people can teach them. */
  readonly unread?: readonly string[];
  /** The algorithm that the asset is listed under, where it is not the first by rank: the key of a certificate. */
  readonly main?: AlgorithmUse;
  readonly selfSignedRoot?: boolean;
  /** Why no verdict is due: a salt is neither safe nor unsafe. */
  readonly notApplicable?: boolean;
}

/** One step on the way from an asset to the algorithm that decides about it. */
export interface ResolvedBy {
  readonly via: 'reference' | 'dependsOn' | 'usedBy' | 'name';
  /** Asset id; absent for the asset's own name. */
  readonly assetId?: string;
}
