import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';

/** A person's identity at a provider: its identifier for them, never their e-mail address. */
@Entity('external_identity')
@Sealed<ExternalIdentity>({
  except: ['createdAt'],
})
export class ExternalIdentity extends SealedEntity {
  @PrimaryColumn('uuid')
  providerId: string;

  /** `sub` of OIDC, NameID of SAML. */
  @PrimaryColumn('text')
  subject: string;

  @Index('external_identity_user')
  @Column('uuid')
  userId: string;

  /** Groups of the person at the last sign-in. The index is a GIN, which TypeORM does not describe. */
  @Index('external_identity_groups', { synchronize: false })
  @Column('text', { array: true, default: '{}' })
  groups: string[];

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
