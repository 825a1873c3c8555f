import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ScanStatus } from './scan-status.js';

/** What is learnt: of each address and port without a login, SSH or TLS; or of a host from within, by its own credential. */
export const SCAN_KINDS = ['ssh-network', 'tls-network', 'ssh-deep'] as const;
export type ScanKind = (typeof SCAN_KINDS)[number];

/** One walk over targets. Its cursor is all that another worker needs to go on. */
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

  /** Probes that make up the walk. */
  @Column('int')
  total: number;

  /** Every probe before this position has its outcome in the rows. */
  @Column('int', { default: 0 })
  cursor: number;

  /** Changes with every attempt to run it; the writes of a former one are fenced off. */
  @Column('int', { default: 0 })
  attempt: number;

  @Column('uuid', { nullable: true })
  worker: string | null;

  /** From then on another worker may take it. */
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
