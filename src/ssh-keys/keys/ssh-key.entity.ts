import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Holders of the private half. `unknown`: not entered yet. */
export const CUSTODIES = ['unknown', 'human', 'host', 'service', 'hsm'] as const;
export type Custody = (typeof CUSTODIES)[number];

export const SSH_KEY_STATES = ['ACTIVE', 'RETIRED'] as const;
export type SshKeyState = (typeof SSH_KEY_STATES)[number];

/** An SSH key pair, known by its fingerprint wherever it turns up. */
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

  /** RFC 4253 section 6.6. Null when only an encrypted private key was found, without its public half. */
  @Column('bytea', { nullable: true })
  blob: Buffer | null;

  @Column('text', { nullable: true })
  comment: string | null;

  /** The responsible person or team, as entered. */
  @Column('text', { nullable: true })
  owner: string | null;

  @Column('text', { default: 'unknown' })
  custody: Custody;

  @Column('text', { default: 'ACTIVE' })
  state: SshKeyState;

  /** The key that a rotation put in its place. */
  @Column('uuid', { nullable: true })
  replacedBy: string | null;

  /** The oldest sign of it that no account of a host can forge: when it came in here, or a file of root that had it was last written, whichever is earlier. */
  @Column('timestamptz', { default: () => 'now()' })
  knownSince: Date;

  /** Last time that a scan saw it. */
  @Column('timestamptz', { nullable: true })
  lastSeen: Date | null;

  /** Grows with every change that a person makes. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

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
