import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** CUSTODIES are the kinds of holders of the private half. `unknown`: not specified yet. */
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

  /** `SHA256:` and base64 without padding. */
  @Index('ssh_key_fingerprint', { unique: true })
  @Column('text')
  fingerprint: string;

  @Column('text')
  type: string;

  @Column('int', { nullable: true })
  bits: number | null;

  /** Public key in the encoding of RFC 4253 section 6.6. Null if only an encrypted private key was found, without its public half. */
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

  /** Key with which a rotation replaced this one. */
  @Column('uuid', { nullable: true })
  replacedBy: string | null;

  /**
   * Oldest evidence of the key that no host account can forge: when it was first recorded here, or the last write to a file owned by root that
   * contained it, whichever is earlier.
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

/** SshKeyLogin is the latest login with a key to an account, with the line of the host's log that proves it. */
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
 * SshKeySecret is the private half of a key in the service's custody: sealed here, or in the token. It has a separate table, so that no list query reads it.
 */
@Entity('ssh_key_secret')
export class SshKeySecret {
  @PrimaryColumn('uuid')
  keyId: string;

  /** `openssh-key-v1`, sealed by the HSM. */
  @Column('bytea', { nullable: true })
  sealed: Buffer | null;

  /** CKA_ID of a key pair that the HSM generated and keeps. */
  @Column('bytea', { nullable: true })
  ckaId: Buffer | null;
}
