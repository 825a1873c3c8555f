import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Caller } from '../../access/caller.js';

/** `workload-issuer`: whoever uploads the keys of an issuer may have the private ones, and so tokens of any claims. */
export type DisclosedCredentialKind = 'user' | 'api-key' | 'oauth-client' | 'workload-issuer';

/** A caller was shown the secret of a credential. Rows are only ever added: a secret that was seen stays known. */
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

  /** The caller who got the answer with the secret. */
  @Column('text')
  shownToKind: Caller['kind'];

  @Column('text')
  shownToId: string;

  /** The person behind that caller. */
  @Column('text')
  personId: string;

  /** The call: `created`, `rotated` (API keys), `secret-replaced` and `keys-replaced` (OAuth clients), `keys-uploaded` (issuers). */
  @Column('text')
  occasion: string;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}
