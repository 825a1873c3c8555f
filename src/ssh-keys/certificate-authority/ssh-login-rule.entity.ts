import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ClaimCondition } from '../../access/identity/verified-identity.js';

export const LOGIN_SUBJECTS = ['workload', 'person'] as const;
/**
 * LoginSubject is the kind of caller that a rule matches: workload runs by the claims of their tokens, or users by `email`, `sub` (user ID) and `provider`
 * (names of the linked identity providers).
 */
export type LoginSubject = (typeof LOGIN_SUBJECTS)[number];

/** SshLoginRule defines which callers can get SSH certificates from an authority without specifying the content, and what the certificates contain. */
@Entity('ssh_login_rule')
@Index('ssh_login_rule_authority', ['authorityId'])
@Check('ssh_login_rule_life', 'life_seconds BETWEEN 60 AND 86400')
@Sealed<SshLoginRule>({
  except: ['createdAt', 'updatedAt'],
  edits: 'revision',
})
export class SshLoginRule extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Index('ssh_login_rule_name', { unique: true })
  @Column('text')
  name: string;

  @Column('uuid')
  authorityId: string;

  @Column('text')
  subject: LoginSubject;

  /** Conditions on claims. All conditions must be met. */
  @Column('jsonb')
  conditions: ClaimCondition[];

  /** Literal names, or names with claims in braces: `deploy`, `ci-{project_id}`, `{email:local}`. */
  @Column('text', { array: true })
  principals: string[];

  @Column('int')
  lifeSeconds: number;

  /** Addresses from which the certificate is valid, as in `from=`. Null means any address. */
  @Column('text', { nullable: true })
  sourceAddress: string | null;

  /** Whether the certificate is valid only from the address of the request. */
  @Column('boolean')
  bindAddress: boolean;

  /** Command to which the certificate is restricted. Null means any command. */
  @Column('text', { nullable: true })
  forceCommand: string | null;

  @Column('text', { array: true })
  extensions: string[];

  @Column('boolean', { default: true })
  enabled: boolean;

  /** Revision number, used as the ETag. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}
