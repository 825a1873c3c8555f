import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Who somebody is at an identity provider: its name for them, never their e-mail address. */
@Entity('external_identity')
export class ExternalIdentity {
  @PrimaryColumn('uuid')
  providerId: string;

  /** `sub` of OIDC, NameID of SAML. */
  @PrimaryColumn('text')
  subject: string;

  @Index('external_identity_user')
  @Column('uuid')
  userId: string;

  /** The groups that the provider named at the last sign-in. */
  @Column('text', { array: true, default: '{}' })
  groups: string[];

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
