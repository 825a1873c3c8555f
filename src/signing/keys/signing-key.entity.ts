import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { KeyType } from '../../hsm/key-vault.js';
import type { KeyConstraints } from './key-constraints.js';
import type { KeyPurpose } from './signing-key-purpose.js';
import type { SigningKeyState } from './signing-key-state.js';

/** A key as its users know it: a name. What is in the token belongs to its versions. */
@Entity('signing_key')
@Index('signing_key_name', ['name'], { unique: true, where: `state <> 'FAILED'` })
export class SigningKey {
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

  /** The version that signs. */
  @Column('int')
  version: number;

  /** It signs from then on … */
  @Column('timestamptz', { nullable: true })
  notBefore: Date | null;

  /** … and until then. */
  @Column('timestamptz', { nullable: true })
  notAfter: Date | null;

  @Column('jsonb', { default: {} })
  constraints: KeyConstraints;

  /** Counts the changes that matter to whoever signs: requests are accepted only for the revision that they were judged by. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('text')
  ownerId: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
