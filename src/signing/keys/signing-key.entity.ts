import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { type KeyType, SIGNATURE_PURPOSES, type SignaturePurpose } from '../../hsm/key-vault.js';
import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import type { KeyConstraints } from './key-constraints.js';

/** The status of a signing key. A key can sign only in status ACTIVE. DESTROYING and later statuses cannot be reverted. */
export const SIGNING_KEY_STATES = [
  'GENERATING',
  'ACTIVE',
  'DISABLED',
  'PENDING_DESTRUCTION',
  'DESTROYING',
  'DESTROYED',
  'FAILED',
] as const;
export type SigningKeyState = (typeof SIGNING_KEY_STATES)[number];

const MOVES: Record<SigningKeyState, readonly SigningKeyState[]> = {
  GENERATING: ['ACTIVE', 'FAILED'],
  ACTIVE: ['DISABLED', 'PENDING_DESTRUCTION'],
  DISABLED: ['ACTIVE', 'PENDING_DESTRUCTION'],
  PENDING_DESTRUCTION: ['DISABLED', 'DESTROYING'],
  DESTROYING: ['DESTROYED'],
  DESTROYED: [],
  FAILED: [],
};

/** Returns the states from which a transition to `next` is allowed. */
export function statesBefore(next: SigningKeyState): SigningKeyState[] {
  return SIGNING_KEY_STATES.filter((state) => MOVES[state].includes(next));
}

/**
 * The purpose of a signing key, fixed at creation and part of its label in the token. `signing` covers both code and documents, and is the purpose of all keys
 * that were created before the other purposes existed. Keys for timestamping and certificates never sign digests from callers: a digest chosen by a caller and
 * signed with the key of a timestamp authority or certificate authority would be a forged timestamp or certificate.
 */
export const KEY_PURPOSES = ['signing', 'timestamping', 'certificates', ...SIGNATURE_PURPOSES] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];

/** Purposes of keys that sign digests from callers. */
export const CALLER_PURPOSES: readonly KeyPurpose[] = ['signing', ...SIGNATURE_PURPOSES];

/** Purposes of the keys that can sign for requests without a purpose, which have always been for code and documents. */
const UNNAMED_PURPOSES: readonly KeyPurpose[] = ['signing', 'code-signing', 'documents'];

/** Returns the purposes of keys that may sign for this purpose. `purpose` is undefined if the caller did not specify a purpose. */
export function keyPurposesFor(purpose: SignaturePurpose | undefined): readonly KeyPurpose[] {
  if (purpose === undefined) return UNNAMED_PURPOSES;
  return purpose === 'code-signing' || purpose === 'documents' ? [purpose, 'signing'] : [purpose];
}

/** A signing key, which callers refer to by its name. Its versions are the key pairs in the token. */
@Entity('signing_key')
@Index('signing_key_name', ['name'], { unique: true, where: `state <> 'FAILED'` })
@Sealed<SigningKey>({ except: ['createdAt'], while: `t.state NOT IN ('FAILED', 'DESTROYED')`, generation: 2 })
export class SigningKey extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('text')
  type: KeyType;

  @Column('text', { default: 'signing' })
  purpose: KeyPurpose;

  @Column('text')
  state: SigningKeyState;

  /** The active version. */
  @Column('int')
  version: number;

  /** Time from which the key can sign. */
  @Column('timestamptz', { nullable: true })
  notBefore: Date | null;

  /** Time until which the key can sign. */
  @Column('timestamptz', { nullable: true })
  notAfter: Date | null;

  @Column('jsonb', { default: {} })
  constraints: KeyConstraints;

  /** Counts the changes that affect signing. A request is recorded only for the revision against which it was validated. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('text')
  ownerId: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** The number of uses of a key in a period, for keys with a daily or lifetime limit. */
@Entity('signing_key_usage')
export class SigningKeyUsage {
  @PrimaryColumn('uuid')
  keyId: string;

  /** A UTC day (2027-01-31), or `lifetime`. */
  @PrimaryColumn('text')
  period: string;

  /** Number of accepted requests. */
  @Column('int')
  used: number;

  /** The limit that was in effect at the last use. */
  @Column('int')
  most: number;
}

/** A scheduled destruction of a signing key and its progress. Cancelling the destruction removes the row. */
@Entity('signing_key_destruction')
@Index('signing_key_destruction_due', ['destroyAt'], { where: 'finished_at IS NULL' })
@Sealed<SigningKeyDestruction>({
  except: ['worker', 'leaseUntil', 'attempt', 'finishedAt', 'createdAt'],
  while: 't.finished_at IS NULL',
  generation: 2,
})
export class SigningKeyDestruction extends SealedEntity {
  @PrimaryColumn('uuid')
  keyId: string;

  /** Time until which the destruction can be cancelled. */
  @Column('timestamptz')
  destroyAt: Date;

  /** The process that claimed the destruction. */
  @Column('uuid', { nullable: true })
  worker: string | null;

  /** No other worker claims the destruction before this time: a worker is running the destruction, or a retry is pending. */
  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  /** Fencing token: results of an earlier attempt have no effect. */
  @Column('int', { default: 0 })
  attempt: number;

  @Column('timestamptz', { nullable: true })
  finishedAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
