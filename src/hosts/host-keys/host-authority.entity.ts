import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A certificate authority that is trusted for host certificates. */
@Entity('host_authority')
@Index('host_authority_fingerprint', ['fingerprint'], { unique: true })
export class HostAuthority {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** SHA256:… */
  @Column('text')
  fingerprint: string;

  @Column('text')
  type: string;

  /** RFC 4253 section 6.6. */
  @Column('bytea')
  blob: Buffer;

  @Column('text')
  createdBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
