import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { AssetsFound, SshKeysFound } from '../platform/queue/inbox-messages.js';

/**
 * `PENDING`: the port is open and has not been probed yet. `FOUND`: the probe succeeded. Every other outcome is the reason why the probe failed, for example a
 * timeout, the wrong protocol, an address that is not allowed, or a failed login.
 */
export const SCAN_OUTCOMES = [
  'PENDING',
  'FOUND',
  'THROTTLED',
  'TIMEOUT',
  'HUNG_UP',
  'FLOOD',
  'NOT_THE_PROTOCOL',
  'CLOSED',
  'DENIED',
  'NO_LOGIN',
] as const;
export type ScanOutcome = (typeof SCAN_OUTCOMES)[number];

/** Result of a scan for one open port. */
@Entity('scan_result')
@Index('scan_result_place', ['scanId', 'target', 'port'], { unique: true })
@Index('scan_result_pending', ['scanId', 'id'], { where: `outcome = 'PENDING'` })
@Index('scan_result_latest', ['address', 'port', 'protocol', 'id'])
export class ScanResult {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  scanId: string;

  /** Target as requested: an address, a name, or the ID of a host. */
  @Column('text')
  target: string;

  /** Address used for the connection. */
  @Column('text', { nullable: true })
  address: string | null;

  @Column('int')
  port: number;

  @Column('text')
  protocol: 'ssh' | 'tls';

  @Column('text')
  outcome: ScanOutcome;

  @Column('jsonb', { nullable: true })
  facts: Record<string, unknown> | null;

  @Column('uuid', { nullable: true })
  hostId: string | null;

  /** Whether the facts are reused from another scan that probed the target less than a minute earlier. */
  @Column('boolean', { default: false })
  reused: boolean;

  @Column('timestamptz', { nullable: true })
  at: Date | null;
}

/** A port that accepted a connection. */
export interface OpenPort {
  readonly target: string;
  readonly address: string | null;
  readonly port: number;
}

/** Result of a probe of one target and port. */
export interface ProbeResult {
  readonly outcome: Exclude<ScanOutcome, 'PENDING'>;
  readonly facts?: Record<string, unknown>;
  readonly hostId?: string;
  readonly reused?: boolean;
  /** Assets to add to the inventory. */
  readonly found?: AssetsFound;
  /** Keys to report to the SSH key module. */
  readonly keys?: SshKeysFound;
}
