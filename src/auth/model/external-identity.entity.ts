import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';

/** A person's identity at a provider. The person is identified by the provider's identifier, never by email address. */
@Entity('external_identity')
@Sealed<ExternalIdentity>({
  except: ['createdAt'],
})
export class ExternalIdentity extends SealedEntity {
  @PrimaryColumn('uuid')
  providerId: string;

  /** `sub` in OIDC, NameID in SAML. */
  @PrimaryColumn('text')
  subject: string;

  @Index('external_identity_user')
  @Column('uuid')
  userId: string;

  /** The person's groups at the last sign-in. The GIN index on this column cannot be declared with TypeORM. */
  @Index('external_identity_groups', { synchronize: false })
  @Column('text', { array: true, default: '{}' })
  groups: string[];

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
