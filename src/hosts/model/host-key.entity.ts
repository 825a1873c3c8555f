import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * `pinned`: confirmed; logins trust it. `tofu-pending`: seen, and not confirmed or rejected yet.
 * `changed`: seen where another one was expected. `rejected`: known to be wrong.
 */
export const HOST_KEY_STATES = ['pinned', 'tofu-pending', 'changed', 'rejected'] as const;
export type HostKeyState = (typeof HOST_KEY_STATES)[number];

/** `proven`: the host has signed with it. `claimed`: it was only shown, or entered by a person. */
export const POSSESSIONS = ['proven', 'claimed'] as const;
export type Possession = (typeof POSSESSIONS)[number];

/** A public key that a host has shown, or should show. */
@Entity('host_key')
@Index('host_key_of_host', ['hostId', 'fingerprint'], { unique: true })
@Index('host_key_fingerprint', ['fingerprint'])
export class HostKey {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  hostId: string;

  /** SHA256:… as OpenSSH writes it. */
  @Column('text')
  fingerprint: string;

  /** RFC 4253 section 6.6, for example `ssh-ed25519`. */
  @Column('text')
  type: string;

  @Column('int', { nullable: true })
  bits: number | null;

  @Column('bytea')
  blob: Buffer;

  /** OpenSSH host certificate of the key. */
  @Column('bytea', { nullable: true })
  certificate: Buffer | null;

  @Column('text')
  state: HostKeyState;

  @Column('text')
  possession: Possession;

  /** Name of who confirmed or rejected it. */
  @Column('text', { nullable: true })
  decidedBy: string | null;

  @Column('timestamptz', { nullable: true })
  decidedAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  @Column('timestamptz', { nullable: true })
  lastSeen: Date | null;
}

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
