import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const DISCOVERY_QUEUE = 'discovery';

/** Statuses of a scan. */
export const SCAN_STATUSES = ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'] as const;
export type ScanStatus = (typeof SCAN_STATUSES)[number];

/** Every legal move; DONE, FAILED and CANCELLED are final. RUNNING → RUNNING: another worker resumes the scan of a dead one. */
const MOVES: Record<ScanStatus, readonly ScanStatus[]> = {
  QUEUED: ['RUNNING', 'CANCELLED'],
  RUNNING: ['RUNNING', 'DONE', 'FAILED', 'CANCELLED'],
  DONE: [],
  FAILED: [],
  CANCELLED: [],
};

/** The statuses from which a scan may move to `next`. */
export function scanStatusesBefore(next: ScanStatus): ScanStatus[] {
  return SCAN_STATUSES.filter((status) => MOVES[status].includes(next));
}

export function isFinalScanStatus(status: ScanStatus): boolean {
  return MOVES[status].length === 0;
}

/** Kinds of scan: SSH or TLS servers on a network without a login; or hosts from within, by their own credential. */
export const SCAN_KINDS = ['ssh-network', 'tls-network', 'ssh-deep'] as const;
export type ScanKind = (typeof SCAN_KINDS)[number];

/** One scan of targets and ports. Its cursor is all that another worker needs to resume it. */
@Entity('scan')
@Index('scan_due', ['sweepAt'], { where: `status IN ('QUEUED', 'RUNNING')` })
@Index('scan_scope_of', ['scopeId'])
export class Scan {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  kind: ScanKind;

  @Column('text')
  status: ScanStatus;

  @Column('uuid', { nullable: true })
  scopeId: string | null;

  /** CIDRs and names; ids of hosts for `ssh-deep`. */
  @Column('text', { array: true })
  targets: string[];

  @Column('int', { array: true })
  ports: number[];

  /** Number of positions: targets by ports. */
  @Column('int')
  total: number;

  /** Every position before this one has been swept, and its open ports are recorded. */
  @Column('int', { default: 0 })
  cursor: number;

  /** Incremented by every claim; the writes of an earlier attempt are fenced off. */
  @Column('int', { default: 0 })
  attempt: number;

  @Column('uuid', { nullable: true })
  worker: string | null;

  /** Time from which another worker may claim it. */
  @Column('timestamptz', { default: () => 'now()' })
  sweepAt: Date;

  @Column('text', { nullable: true })
  failureCode: string | null;

  @Column('text')
  requestedBy: string;

  @Column('text')
  correlation: string;

  /** The run of a schedule that started it. */
  @Column('uuid', { nullable: true })
  runId: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  startedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  finishedAt: Date | null;
}

/** Networks, names and ports that may be scanned. Without a scope nothing may. */
@Entity('scan_scope')
@Index('scan_scope_name', ['name'], { unique: true })
export class ScanScope {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** CIDR, in canonical spelling. */
  @Column('text', { array: true })
  networks: string[];

  /** DNS names in lower case; each stands for itself and everything below it. */
  @Column('text', { array: true })
  names: string[];

  @Column('int', { array: true })
  ports: number[];

  @Column('text')
  createdBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
