/** Facts that are declared about an algorithm beside its name (CycloneDX `algorithmProperties`). */
export interface DeclaredAlgorithm {
  readonly primitive?: string;
  readonly parameterSetIdentifier?: string;
  readonly curve?: string;
  /** CycloneDX 1.7 says the family and the curve by names of its own registry: `secg/secp521r1`. */
  readonly ellipticCurve?: string;
  readonly algorithmFamily?: string;
  readonly mode?: string;
  readonly padding?: string;
  readonly cryptoFunctions?: readonly string[];
}
