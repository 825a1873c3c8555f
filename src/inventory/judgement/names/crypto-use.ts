import type { AlgorithmUse, AlgorithmPurpose } from '../../model/risk-subject.js';
import { findFamily } from '../vocabularies/families.js';

const ROLES = ['cipher', 'hash', 'mac', 'kdf'] as const;
type Role = (typeof ROLES)[number];

/** CryptoUse is the use of an algorithm: its purpose if it has a public key, otherwise its role. */
export type CryptoUse = AlgorithmPurpose | Role;

export function cryptoUseOf({ family, purpose }: Pick<AlgorithmUse, 'family' | 'purpose'>): CryptoUse {
  if (purpose !== 'unknown') return purpose;
  const role = findFamily(family)?.role;
  return ROLES.find((one) => one === role) ?? 'unknown';
}

/** Priority of a role when an asset is listed under one of its algorithms: algorithms with a key first, then supporting algorithms. */
const RANK: Readonly<Record<string, number>> = {
  exchange: 0,
  key: 1,
  sign: 1,
  cipher: 2,
  random: 2,
  other: 3,
  kdf: 3,
  mac: 4,
  hash: 5,
};

/** mainUse returns the algorithm under which an asset is listed: the asset's own algorithm, not a weak component of that algorithm. */
export function mainUse(uses: readonly AlgorithmUse[]): AlgorithmUse | undefined {
  const rank = ({ family, hybrid, usage }: AlgorithmUse) => {
    if (hybrid !== null) return -1;
    return (RANK[findFamily(family)?.role ?? 'other'] ?? 3) + (usage === null ? 0 : 10);
  };
  return uses.reduce<AlgorithmUse | undefined>(
    (best, use) => (best === undefined || rank(use) < rank(best) ? use : best),
    undefined,
  );
}
