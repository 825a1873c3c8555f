import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A message about signing out that was sent and waits for its answer, or was taken and must not come again. */
@Entity('saml_message')
@Index('saml_message_expires', ['expiresAt'])
export class SamlMessageMark {
  @PrimaryColumn('uuid')
  providerId: string;

  @PrimaryColumn('text')
  direction: 'sent' | 'taken';

  /** SHA-256 of its ID. */
  @PrimaryColumn('bytea')
  idHash: Buffer;

  @Column('timestamptz')
  expiresAt: Date;
}
