import { ALGORITHM_PATTERNS, type AlgorithmPattern } from './algorithm-patterns.js';
import type { Ingredient, Purpose } from '../model/risk-subject.js';

const ROLES = ['cipher', 'hash', 'mac', 'kdf'] as const;
type Role = (typeof ROLES)[number];

/** What an algorithm is for: the purpose of one with a public key, and of any other what it is. */
export type CryptoUse = Purpose | Role;

const isRole = (role: AlgorithmPattern['role']): role is Role => ROLES.some((one) => one === role);
const ROLE_OF = new Map(ALGORITHM_PATTERNS.flatMap(({ family, role }) => (isRole(role) ? [[family, role]] : [])));

export function useOf({ family, purpose }: Pick<Ingredient, 'family' | 'purpose'>): CryptoUse {
  return purpose === 'unknown' ? (ROLE_OF.get(family) ?? 'unknown') : purpose;
}
