import type { Stance } from '../risk/jurisdictions.js';
import type { CryptoUse } from '../names/crypto-use.js';
import packs from './policy-packs.json' with { type: 'json' };

/** StanceCheck checks a requirement by the position of an authority. */
export interface StanceCheck {
  readonly kind: 'stance';
  readonly jurisdiction: string;
  /** Restricts the check to algorithms with these uses. */
  readonly uses?: readonly CryptoUse[];
  /** The requirement is violated at this stance or a worse one. */
  readonly limit: Extract<Stance, 'DISCOURAGES' | 'REJECTS'>;
}

/** QueryCheck checks a requirement by a query that no asset may match. */
export interface QueryCheck {
  readonly kind: 'query';
  readonly q: string;
  /** Query that selects the assets that the requirement concerns; absent for all assets. */
  readonly among?: string;
}

/** PolicyCheck is the way a requirement is checked; `review` means by a person. */
export type PolicyCheck = StanceCheck | QueryCheck | { readonly kind: 'review' };

export interface PolicyRequirement {
  readonly identifier: string;
  readonly text: string;
  readonly check: PolicyCheck;
}

export interface PolicyPack {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly owner: string;
  readonly description: string;
  /** Maximum validity of an attestation, in days. */
  readonly reviewEveryDays: number;
  readonly requirements: readonly PolicyRequirement[];
  /** Number of the revision, from 1. Present only in packs of the organisation. */
  readonly revision?: number;
}

/** The policy packs that ship with the product. */
export const PACKS = packs as unknown as readonly PolicyPack[];
