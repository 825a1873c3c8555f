import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Column, Entity, Index, PrimaryColumn, Check } from 'typeorm';

/** A group of approvers. The members of the group are stored in approver_group_member. */
@Entity('approver_group')
export class ApproverGroup {
  @PrimaryColumn('uuid')
  id: string;

  @Index('approver_group_name', { unique: true })
  @Column('text')
  name: string;

  /** Incremented by each edit; the ETag. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}

/** A member of an approver group: a user, or all users in a group of an identity provider. */
@Entity('approver_group_member')
@Check('approver_group_member_kind', `(user_id IS NULL) = (provider_id IS NOT NULL AND sso_group IS NOT NULL)`)
@Sealed<ApproverGroupMember>({
  except: [],
})
export class ApproverGroupMember extends SealedEntity {
  @PrimaryColumn('uuid')
  groupId: string;

  /** `user <id>` or `sso <provider id> <group>`: one row per member. */
  @PrimaryColumn('text')
  member: string;

  @Index('approver_group_member_user')
  @Column('uuid', { nullable: true })
  userId: string | null;

  @Column('uuid', { nullable: true })
  providerId: string | null;

  @Column('text', { nullable: true })
  ssoGroup: string | null;

  /**
   * ID of the person who owns the credential with which the member was added. Members that a requester adds after making a request do not count for that
   * request.
   */
  @Column('text')
  addedBy: string;

  /** IDs of the other people who know that credential and could have made the call that added the member. Null if there are none. */
  @Column('text', { array: true, nullable: true })
  addedBehind: string[] | null;

  @Column('timestamptz', { default: () => 'now()' })
  addedAt: Date;
}
