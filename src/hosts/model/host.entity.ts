import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Kinds of credential that a host is logged in to with. */
export const CREDENTIAL_KINDS = ['private-key', 'password'] as const;
export type HostCredentialKind = (typeof CREDENTIAL_KINDS)[number];

/** The host keys that logins trust: confirmed ones (`pinned`), those that a trusted authority certifies (`ca`), or the first one that was seen (`tofu`). */
export const HOST_KEY_POLICIES = ['pinned', 'ca', 'tofu'] as const;
export type HostKeyPolicy = (typeof HOST_KEY_POLICIES)[number];

/** `inventory-only` hosts are looked at and never changed. */
export const MANAGEMENT_MODES = ['inventory-only', 'managed'] as const;
export type ManagementMode = (typeof MANAGEMENT_MODES)[number];

/** Ways of commands to become root: none, `sudo -n`, or the login is root already. */
export const PRIVILEGES = ['none', 'sudo', 'root'] as const;
export type Privilege = (typeof PRIVILEGES)[number];

/** Outcome of the last attempt to reach it. `throttled`: it answers and turns us away for now, which is not the same as being down. */
export const REACHABILITIES = ['unknown', 'reachable', 'unreachable', 'throttled', 'refused'] as const;
export type Reachability = (typeof REACHABILITIES)[number];

export type Labels = Record<string, string>;

/** What the last deep scan of a host could not read of the files that authorize keys. */
export interface ScanGap {
  /** Problem code of the login that failed; then nothing was read. */
  readonly code?: string;
  readonly paths: readonly string[];
  /** sshd could not be asked which files it reads. */
  readonly lowConfidence: boolean;
}

/** A machine that is logged in to, or was found. */
@Entity('host')
@Index('host_name', ['name'], { unique: true })
@Index('host_address', ['address', 'port'])
@Index('host_jump_host', ['jumpHostId'])
@Index('host_scan_gap', ['name'], { where: 'scan_gap IS NOT NULL' })
export class Host {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** IP address in its usual form, or a host name in lower case. */
  @Column('text')
  address: string;

  @Column('int', { default: 22 })
  port: number;

  @Index('host_labels', { synchronize: false })
  @Column('jsonb', { default: {} })
  labels: Labels;

  /** The responsible person or team; free text. */
  @Column('text', { nullable: true })
  owner: string | null;

  @Column('text', { nullable: true })
  environment: string | null;

  /** The host that connections go through. */
  @Column('uuid', { nullable: true })
  jumpHostId: string | null;

  @Column('text', { default: 'pinned' })
  hostKeyPolicy: HostKeyPolicy;

  @Column('text', { default: 'inventory-only' })
  managementMode: ManagementMode;

  @Column('text', { default: 'none' })
  privilege: Privilege;

  @Column('text', { nullable: true })
  loginUser: string | null;

  @Column('text', { nullable: true })
  credentialKind: HostCredentialKind | null;

  /** Sealed; opened only to log in. */
  @Column('bytea', { nullable: true, select: false })
  credential: Buffer | null;

  /** SHA256:… of the login key; null for a password. */
  @Column('text', { nullable: true })
  credentialFingerprint: string | null;

  @Column('text', { nullable: true })
  os: string | null;

  /** Software part of the version exchange (RFC 4253 section 4.2). */
  @Column('text', { nullable: true })
  sshVersion: string | null;

  @Column('text', { default: 'unknown' })
  reachability: Reachability;

  /** Problem code of the last attempt that failed. */
  @Column('text', { nullable: true })
  reachabilityCode: string | null;

  @Column('timestamptz', { nullable: true })
  checkedAt: Date | null;

  /** The scan that saw it last. */
  @Column('uuid', { nullable: true })
  lastScanId: string | null;

  /** Null when the last deep scan read everything, or there was none. */
  @Column('jsonb', { nullable: true })
  scanGap: ScanGap | null;

  /** Logins may use algorithms with SHA-1 and ciphers in CBC mode: for hosts that have nothing else. */
  @Column('boolean', { default: false })
  legacyAlgorithms: boolean;

  /** Grows with every change that a person makes; what scans and logins find out does not count. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}
