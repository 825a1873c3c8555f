import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** CUSTODIES lists the possible holders of a private key. `unknown`: not specified yet. */
export const CUSTODIES = ['unknown', 'human', 'host', 'service', 'hsm'] as const;
export type Custody = (typeof CUSTODIES)[number];

export const SSH_KEY_STATES = ['ACTIVE', 'RETIRED'] as const;
export type SshKeyState = (typeof SSH_KEY_STATES)[number];

/** SshKey is an SSH key pair, identified by its fingerprint wherever it is found. */
@Entity('ssh_key')
@Index('ssh_key_owner', ['owner', 'id'], { where: 'owner IS NOT NULL' })
@Index('ssh_key_replaced_by', ['replacedBy'], { where: 'replaced_by IS NOT NULL' })
export class SshKey {
  @PrimaryColumn('uuid')
  id: string;

  /** `SHA256:` followed by base64 without padding. */
  @Index('ssh_key_fingerprint', { unique: true })
  @Column('text')
  fingerprint: string;

  @Column('text')
  type: string;

  @Column('int', { nullable: true })
  bits: number | null;

  /** Public key in the encoding of RFC 4253 section 6.6. Null if only an encrypted private key was found, which does not reveal the public key. */
  @Column('bytea', { nullable: true })
  blob: Buffer | null;

  @Column('text', { nullable: true })
  comment: string | null;

  /** Responsible person or team, as entered. */
  @Column('text', { nullable: true })
  owner: string | null;

  @Column('text', { default: 'unknown' })
  custody: Custody;

  @Column('text', { default: 'ACTIVE' })
  state: SshKeyState;

  /** ID of the key with which a rotation replaced this key. */
  @Column('uuid', { nullable: true })
  replacedBy: string | null;

  /**
   * Time of the key's oldest evidence that no host account can forge: when the service first recorded the key, or the last write to a file owned by root that
   * contained the key, whichever is earlier.
   */
  @Column('timestamptz', { default: () => 'now()' })
  knownSince: Date;

  /** Time of the last scan that saw the key. */
  @Column('timestamptz', { nullable: true })
  lastSeen: Date | null;

  /** Incremented by every change that a user makes. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** SshKeyLogin is the latest login with a key to an account, with the line of the host's log that records the login. */
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

  /** Source address of the login. */
  @Column('text')
  source: string;

  @Column('text')
  evidence: string;
}

/**
 * SshKeySecret is the private key of an SSH key that the service keeps, either sealed in the row or in the HSM. It has a separate table, so that list queries
 * never read it.
 */
@Entity('ssh_key_secret')
export class SshKeySecret {
  @PrimaryColumn('uuid')
  keyId: string;

  /** Private key in `openssh-key-v1` format, sealed by the HSM. */
  @Column('bytea', { nullable: true })
  sealed: Buffer | null;

  /** CKA_ID of a key pair that was generated in the HSM and stays there. */
  @Column('bytea', { nullable: true })
  ckaId: Buffer | null;
}
