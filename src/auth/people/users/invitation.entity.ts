import { Sealed, SealedEntity } from '../../../platform/sealing/sealed-entity.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RoleName } from '../../../access/scopes.js';

/** An invitation to create an account. The invitation is sent to one email address and is valid once. */
@Entity('invitation')
@Sealed<Invitation>({
  except: ['createdAt'],
  while: 't.accepted_at IS NULL AND t.revoked_at IS NULL AND t.expires_at > now()',
})
export class Invitation extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  email: string;

  @Column('text', { array: true })
  roles: RoleName[];

  /** SHA-256 of the token in the link. */
  @Index('invitation_token', { unique: true })
  @Column('bytea')
  tokenHash: Buffer;

  /** Name of the inviter. */
  @Column('text')
  invitedBy: string;

  /** ID of the inviter: a person, an API key or an OAuth client. Null in rows written by earlier versions. */
  @Column('text', { nullable: true })
  inviterId: string | null;

  /** ID of the person behind the inviter. */
  @Index('invitation_inviter', { where: 'accepted_at IS NULL AND revoked_at IS NULL' })
  @Column('text', { nullable: true })
  inviterPerson: string | null;

  /**
   * IDs of everyone other than the inviter whose rights the invitation requires: the owner of a key or client, everyone to whom its secret was shown, and the
   * client of the session.
   */
  @Column('text', { array: true, nullable: true })
  inviterBehind: string[] | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('timestamptz', { nullable: true })
  acceptedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  revokedAt: Date | null;
}
