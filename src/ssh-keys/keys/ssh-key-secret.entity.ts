import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The private half of a key in the service's custody: sealed here, or in the token. It has a table of its own, so that no list reads it. */
@Entity('ssh_key_secret')
export class SshKeySecret {
  @PrimaryColumn('uuid')
  keyId: string;

  /** `openssh-key-v1`, sealed by the HSM. */
  @Column('bytea', { nullable: true })
  sealed: Buffer | null;

  /** CKA_ID of a pair that the HSM made and keeps. */
  @Column('bytea', { nullable: true })
  ckaId: Buffer | null;
}
