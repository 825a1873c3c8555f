import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The latest login with a key on one account, with the line of the host's log that shows it. */
@Entity('ssh_key_login')
export class SshKeyLogin {
  @PrimaryColumn('uuid')
  keyId: string;

  @PrimaryColumn('uuid')
  hostId: string;

  @PrimaryColumn('text')
  account: string;

  @Column('timestamptz')
  at: Date;

  /** Address that it came from. */
  @Column('text')
  source: string;

  @Column('text')
  evidence: string;
}
