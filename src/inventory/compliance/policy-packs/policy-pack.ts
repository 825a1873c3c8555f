import type { Stance } from '../../judgement/risk/jurisdictions.js';
import type { CryptoUse } from '../../judgement/names/crypto-use.js';
import packs from './policy-packs.json' with { type: 'json' };

/** StanceCheck is violated if an authority's stance on an asset's algorithm is `limit` or worse. */
export interface StanceCheck {
  readonly kind: 'stance';
  readonly jurisdiction: string;
  /** Restricts the check to algorithms with these uses. */
  readonly uses?: readonly CryptoUse[];
  /** Stance at which the requirement is violated. Worse stances also violate the requirement. */
  readonly limit: Extract<Stance, 'DISCOURAGES' | 'REJECTS'>;
}

/** QueryCheck checks a requirement with a query that no asset may match. */
export interface QueryCheck {
  readonly kind: 'query';
  readonly q: string;
  /** Query that selects the assets to which the requirement applies; undefined for all assets. */
  readonly among?: string;
}

/** PolicyCheck defines how a requirement is checked; `review` means that the requirement is assessed manually. */
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
  /** Revision number, starting at 1. Present only in custom packs. */
  readonly revision?: number;
}

/** PACKS contains the built-in policy packs. */
export const PACKS = packs as unknown as readonly PolicyPack[];
