import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../access/scopes.js';

@Entity('api_key')
@Index('api_key_owner', ['ownerId', 'id'])
@Index('api_key_expiring', ['expiry'], { where: 'revoked_at IS NULL AND replaced_by IS NULL' })
@Sealed<ApiKey>({
  except: ['createdAt', 'lastUsedAt', 'lastUsedFrom', 'warnedDays'],
  edits: 'revision',
  while: 't.revoked_at IS NULL',
})
export class ApiKey extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** The part of the key that identifies its row. */
  @Index('api_key_lookup', { unique: true })
  @Column('text')
  lookup: string;

  @Index('api_key_name', { synchronize: false })
  @Column('text')
  name: string;

  @Column('text', { array: true })
  permissions: Scope[];

  @Column('timestamptz')
  expiry: Date;

  /** SHA-256 of the secret part: 190 random bits do not need a slow hash. */
  @Column('bytea')
  secretHash: Buffer;

  /** ID of the person who created the key. */
  @Column('text')
  ownerId: string;

  /** ID of the person to whom the secret was shown, if not the owner. The key is limited to the rights of this person as well. */
  @Column('text', { nullable: true })
  issuedTo: string | null;

  /**
   * Sorted IDs of the people other than the owner and issuedTo who could have made the call that created the secret. The key is limited to the rights of these
   * people as well. Null if there are no such people.
   */
  @Column('text', { array: true, nullable: true })
  behind: string[] | null;

  /** Sorted IDs of all people to whom the secret was ever shown. Null in rows written by earlier versions. */
  @Column('text', { array: true, nullable: true })
  disclosedTo: string[] | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  revokedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  lastUsedAt: Date | null;

  @Column('text', { nullable: true })
  lastUsedFrom: string | null;

  /** IP addresses and CIDR blocks from which the key can be used; null allows every address. */
  @Column('text', { array: true, nullable: true })
  addresses: string[] | null;

  /** Names and patterns of the signing keys that the key can use; null allows every key. Null in rows written by earlier versions. */
  @Column('text', { array: true, nullable: true })
  signingKeys: string[] | null;

  /**
   * Version, which each edit increments and which is used as the ETag. Null, which counts as 1, until the first edit, so that processes of the previous version
   * accept the row.
   */
  @Column('int', { nullable: true })
  revision: number | null;

  /** ID of the key that replaced this key. */
  @Column('uuid', { nullable: true })
  replacedBy: string | null;

  /** Threshold, in days before expiry, of the last warning that was sent. */
  @Column('int', { nullable: true })
  warnedDays: number | null;
}
