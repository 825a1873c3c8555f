import type { Stance } from '../risk/jurisdictions.js';
import type { Purpose } from '../risk/risk-subject.js';
import packs from './policy-packs.json' with { type: 'json' };

/** How a requirement is checked: by what an authority says, by a query that must find nothing, or by a person. */
export type PolicyCheck =
  | {
      readonly kind: 'stance';
      readonly jurisdiction: string;
      readonly purposes?: readonly Purpose[];
      /** Violated at this stance or a worse one. */
      readonly limit: Extract<Stance, 'DISCOURAGES' | 'REJECTS'>;
    }
  | { readonly kind: 'query'; readonly q: string }
  | { readonly kind: 'review' };

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
  /** An attestation is good for that long at most. */
  readonly reviewEveryDays: number;
  readonly requirements: readonly PolicyRequirement[];
  /** Of one's own: counts its changes, from 1. */
  readonly revision?: number;
}

/** Those that come with the product. */
export const PACKS = packs as unknown as readonly PolicyPack[];
