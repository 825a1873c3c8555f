import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Caller } from '../../access/caller.js';

/** `workload-issuer`: a person who uploads an issuer's keys may have the private keys, and could create tokens with any claims. */
export type DisclosedCredentialKind = 'user' | 'api-key' | 'oauth-client' | 'workload-issuer';

/**
 * SecretDisclosure records that the secret of a credential was shown to a caller. Rows are never deleted, because a caller who has seen a secret may still know
 * the secret.
 */
@Entity('secret_disclosure')
@Index('secret_disclosure_credential', ['credentialKind', 'credentialId'])
@Sealed<SecretDisclosure>({
  except: [],
})
export class SecretDisclosure extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  credentialKind: DisclosedCredentialKind;

  @Column('text')
  credentialId: string;

  /** The caller whose response contained the secret. */
  @Column('text')
  shownToKind: Caller['kind'];

  @Column('text')
  shownToId: string;

  /** ID of the person behind the caller. */
  @Column('text')
  personId: string;

  /** Action of the call: `created`, `rotated` (API keys), `secret-replaced` and `keys-replaced` (OAuth clients), `keys-uploaded` (issuers). */
  @Column('text')
  occasion: string;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}
