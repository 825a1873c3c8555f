import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * HOST_KEY_STATES are the states of a host key. `pinned`: confirmed, and trusted by logins. `tofu-pending`: seen, but neither confirmed nor rejected.
 * `changed`: presented where a different key was expected. `rejected`: known to be wrong.
 */
export const HOST_KEY_STATES = ['pinned', 'tofu-pending', 'changed', 'rejected'] as const;
export type HostKeyState = (typeof HOST_KEY_STATES)[number];

/**
 * POSSESSIONS are the kinds of evidence that a host possesses a key. `proven`: the host has signed with the key. `claimed`: the key was only presented, or
 * entered by a user.
 */
export const POSSESSIONS = ['proven', 'claimed'] as const;
export type Possession = (typeof POSSESSIONS)[number];

/** HostKey is a public key that a host has presented or is expected to present. */
@Entity('host_key')
@Index('host_key_of_host', ['hostId', 'fingerprint'], { unique: true })
@Index('host_key_fingerprint', ['fingerprint'])
export class HostKey {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  hostId: string;

  /** SHA-256 fingerprint in OpenSSH notation (`SHA256:…`). */
  @Column('text')
  fingerprint: string;

  /** Key type (RFC 4253 section 6.6), for example `ssh-ed25519`. */
  @Column('text')
  type: string;

  @Column('int', { nullable: true })
  bits: number | null;

  @Column('bytea')
  blob: Buffer;

  /** OpenSSH host certificate for the key. */
  @Column('bytea', { nullable: true })
  certificate: Buffer | null;

  @Column('text')
  state: HostKeyState;

  @Column('text')
  possession: Possession;

  /** Name of the user who confirmed or rejected the key. */
  @Column('text', { nullable: true })
  decidedBy: string | null;

  @Column('timestamptz', { nullable: true })
  decidedAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  @Column('timestamptz', { nullable: true })
  lastSeen: Date | null;
}

/** HostAuthority is a certificate authority that is trusted for host certificates. */
@Entity('host_authority')
@Index('host_authority_fingerprint', ['fingerprint'], { unique: true })
export class HostAuthority {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** SHA-256 fingerprint in OpenSSH notation (`SHA256:…`). */
  @Column('text')
  fingerprint: string;

  @Column('text')
  type: string;

  /** Public key in the encoding of RFC 4253 section 6.6. */
  @Column('bytea')
  blob: Buffer;

  @Column('text')
  createdBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
