import type { DeclaredName } from './named-algorithms.js';
import { SHOR_BREAKABLE } from './risk-engine.js';
import type { Ingredient } from '../model/risk-subject.js';

/** NIST security categories (FIPS 203 to 205; call for proposals 4.A.5). */
const CATEGORIES: Record<string, Record<string, number>> = {
  'ML-KEM': { 512: 1, 768: 3, 1024: 5 },
  'ML-DSA': { 44: 2, 65: 3, 87: 5 },
  AES: { 128: 1, 192: 3, 256: 5 },
  'SHA-2': { 256: 2, 384: 4 },
  'SHA-3': { 256: 2, 384: 4 },
};

/** True when the security level that a document claims is not that of the algorithm, higher or lower. Identity decides. */
export function claimConflict({ properties }: DeclaredName, parts: readonly Ingredient[]): boolean {
  const claim = properties?.nistQuantumSecurityLevel;
  if (typeof claim !== 'number' || parts.length === 0) return false;
  if (parts.some(({ family }) => SHOR_BREAKABLE.has(family))) return claim > 0;
  const [only] = parts;
  if (parts.length > 1 || only === undefined) return false;
  const category = CATEGORIES[only.family]?.[only.param ?? String(only.bits)];
  return category !== undefined && category !== claim;
}
