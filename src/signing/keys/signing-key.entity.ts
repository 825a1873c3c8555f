import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { KeyType } from '../../hsm/key-vault.js';
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

  @Column('text')
  state: SigningKeyState;

  /** The version that signs. */
  @Column('int')
  version: number;

  @Column('text')
  ownerId: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
