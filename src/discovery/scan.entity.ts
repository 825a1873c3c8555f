import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const DISCOVERY_QUEUE = 'discovery';

export const SCAN_STATUSES = ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'] as const;
export type ScanStatus = (typeof SCAN_STATUSES)[number];

/** Allowed status transitions. DONE, FAILED and CANCELLED are final. RUNNING → RUNNING: another worker resumes a scan whose worker died. */
const MOVES: Record<ScanStatus, readonly ScanStatus[]> = {
  QUEUED: ['RUNNING', 'CANCELLED'],
  RUNNING: ['RUNNING', 'DONE', 'FAILED', 'CANCELLED'],
  DONE: [],
  FAILED: [],
  CANCELLED: [],
};

/** Returns the statuses from which a scan may change to `next`. */
export function scanStatusesBefore(next: ScanStatus): ScanStatus[] {
  return SCAN_STATUSES.filter((status) => MOVES[status].includes(next));
}

export function isFinalScanStatus(status: ScanStatus): boolean {
  return MOVES[status].length === 0;
}

/** Kinds of scan. Network scans probe SSH or TLS servers without logging in. Deep scans log in to hosts with the hosts' credentials. */
export const SCAN_KINDS = ['ssh-network', 'tls-network', 'ssh-deep'] as const;
export type ScanKind = (typeof SCAN_KINDS)[number];

/** A scan of targets and ports. The cursor is sufficient for another worker to resume the scan. */
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

  /** CIDRs and names; for `ssh-deep`, IDs of hosts. */
  @Column('text', { array: true })
  targets: string[];

  @Column('int', { array: true })
  ports: number[];

  /** Number of positions: targets × ports. */
  @Column('int')
  total: number;

  /** Next position to sweep. All open ports at earlier positions have been recorded. */
  @Column('int', { default: 0 })
  cursor: number;

  /** Number of claims. Writes by workers with an earlier claim have no effect. */
  @Column('int', { default: 0 })
  attempt: number;

  @Column('uuid', { nullable: true })
  worker: string | null;

  /** Time at which another worker may claim the scan. */
  @Column('timestamptz', { default: () => 'now()' })
  sweepAt: Date;

  @Column('text', { nullable: true })
  failureCode: string | null;

  @Column('text')
  requestedBy: string;

  @Column('text')
  correlation: string;

  /** Schedule run that started the scan, if any. */
  @Column('uuid', { nullable: true })
  runId: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  startedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  finishedAt: Date | null;
}

/** Networks, names and ports that may be scanned. Nothing outside a scope may be scanned. */
@Entity('scan_scope')
@Index('scan_scope_name', ['name'], { unique: true })
export class ScanScope {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** CIDRs in canonical form. */
  @Column('text', { array: true })
  networks: string[];

  /** DNS names in lowercase. Each name includes its subdomains. */
  @Column('text', { array: true })
  names: string[];

  @Column('int', { array: true })
  ports: number[];

  @Column('text')
  createdBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
