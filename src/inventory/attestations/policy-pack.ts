import type { Stance } from '../risk/jurisdictions.js';
import type { CryptoUse } from '../names/crypto-use.js';
import packs from './policy-packs.json' with { type: 'json' };

/** A requirement by the position of an authority. */
export interface StanceCheck {
  readonly kind: 'stance';
  readonly jurisdiction: string;
  /** Only algorithms for this use. */
  readonly uses?: readonly CryptoUse[];
  /** Violated at this stance or a worse one. */
  readonly limit: Extract<Stance, 'DISCOURAGES' | 'REJECTS'>;
}

/** A requirement by a query that must find nothing. */
export interface QueryCheck {
  readonly kind: 'query';
  readonly q: string;
  /** A query for the assets that the requirement is about; all otherwise. */
  readonly among?: string;
}

/** How a requirement is checked; `review`: by a person. */
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
  /** Maximum validity of an attestation. */
  readonly reviewEveryDays: number;
  readonly requirements: readonly PolicyRequirement[];
  /** Present in packs of the organisation: counts changes, from 1. */
  readonly revision?: number;
}

/** The packs that come with the product. */
export const PACKS = packs as unknown as readonly PolicyPack[];
