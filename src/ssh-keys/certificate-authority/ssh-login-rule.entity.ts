import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ClaimCondition } from '../../access/identity/verified-identity.js';

export const LOGIN_SUBJECTS = ['workload', 'person'] as const;
/**
 * LoginSubject is what a rule matches: runs of workloads by the claims of their token, or people by `email`, `sub` (their ID) and `provider` (names of
 * the identity providers to which they are linked).
 */
export type LoginSubject = (typeof LOGIN_SUBJECTS)[number];

/** Who gets an SSH certificate of an authority without anybody typing its content, and what stands in it. */
@Entity('ssh_login_rule')
@Index('ssh_login_rule_authority', ['authorityId'])
@Check('ssh_login_rule_life', 'life_seconds BETWEEN 60 AND 86400')
@Sealed<SshLoginRule>({
  except: ['createdAt', 'updatedAt'],
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

  /** All must be met. */
  @Column('jsonb')
  conditions: ClaimCondition[];

  /** Names as they are, or with claims in braces: `deploy`, `ci-{project_id}`, `{email:local}`. */
  @Column('text', { array: true })
  principals: string[];

  @Column('int')
  lifeSeconds: number;

  /** Addresses that the certificate is good from, as in `from=`; null: any. */
  @Column('text', { nullable: true })
  sourceAddress: string | null;

  /** The certificate is good from the address of the call alone. */
  @Column('boolean')
  bindAddress: boolean;

  /** The one command that it runs; null: any. */
  @Column('text', { nullable: true })
  forceCommand: string | null;

  @Column('text', { array: true })
  extensions: string[];

  @Column('boolean', { default: true })
  enabled: boolean;

  /** Counts the edits; the ETag. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}
