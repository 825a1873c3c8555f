import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** CREDENTIAL_KINDS are the kinds of host login credentials. */
export const CREDENTIAL_KINDS = ['private-key', 'password'] as const;
export type HostCredentialKind = (typeof CREDENTIAL_KINDS)[number];

/**
 * HOST_KEY_POLICIES determine which host keys logins trust: confirmed keys (`pinned`), keys certified by a trusted authority (`ca`), or the first key seen
 * (`tofu`).
 */
export const HOST_KEY_POLICIES = ['pinned', 'ca', 'tofu'] as const;
export type HostKeyPolicy = (typeof HOST_KEY_POLICIES)[number];

/** MANAGEMENT_MODES determine whether the service may change a host. The service reads `inventory-only` hosts but never changes them. */
export const MANAGEMENT_MODES = ['inventory-only', 'managed'] as const;
export type ManagementMode = (typeof MANAGEMENT_MODES)[number];

/** PRIVILEGES are the ways to run commands as root: not at all, with `sudo -n`, or because the login is already root. */
export const PRIVILEGES = ['none', 'sudo', 'root'] as const;
export type Privilege = (typeof PRIVILEGES)[number];

/**
 * REACHABILITIES are the results of the last attempt to reach a host. `throttled`: the host responds but temporarily refuses connections, which does not mean
 * that the host is down.
 */
export const REACHABILITIES = ['unknown', 'reachable', 'unreachable', 'throttled', 'refused'] as const;
export type Reachability = (typeof REACHABILITIES)[number];

export type Labels = Record<string, string>;

/** ScanGap describes the authorized_keys files that the last deep scan of a host could not read. */
export interface ScanGap {
  /** Problem code of the failed login. Present only if no file was read because the login failed. */
  readonly code?: string;
  readonly paths: readonly string[];
  /** Whether sshd could not be queried for the paths of its authorized_keys files. */
  readonly lowConfidence: boolean;
}

/** Host is a machine that the service can log in to, or that a scan found. */
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

  /** IP address in canonical form, or lowercase host name. */
  @Column('text')
  address: string;

  @Column('int', { default: 22 })
  port: number;

  @Index('host_labels', { synchronize: false })
  @Column('jsonb', { default: {} })
  labels: Labels;

  /** Responsible person or team, as free text. */
  @Column('text', { nullable: true })
  owner: string | null;

  @Column('text', { nullable: true })
  environment: string | null;

  /** ID of the jump host through which connections are made. */
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

  /** Sealed credential, opened only for logins. */
  @Column('bytea', { nullable: true, select: false })
  credential: Buffer | null;

  /** Fingerprint of the login key (`SHA256:…`). Null for a password. */
  @Column('text', { nullable: true })
  credentialFingerprint: string | null;

  @Column('text', { nullable: true })
  os: string | null;

  /** Software part of the version exchange (RFC 4253 section 4.2). */
  @Column('text', { nullable: true })
  sshVersion: string | null;

  @Column('text', { default: 'unknown' })
  reachability: Reachability;

  /** Problem code of the last failed attempt. */
  @Column('text', { nullable: true })
  reachabilityCode: string | null;

  @Column('timestamptz', { nullable: true })
  checkedAt: Date | null;

  /** ID of the scan that last detected the host. */
  @Column('uuid', { nullable: true })
  lastScanId: string | null;

  /** Gap left by the last deep scan. Null if the scan read every authorized_keys file, or if there was no deep scan. */
  @Column('jsonb', { nullable: true })
  scanGap: ScanGap | null;

  /** Whether logins may use SHA-1 algorithms and CBC ciphers, for hosts that support nothing else. */
  @Column('boolean', { default: false })
  legacyAlgorithms: boolean;

  /** Version of the record. Incremented by user changes, but not by the results of scans and logins. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}
