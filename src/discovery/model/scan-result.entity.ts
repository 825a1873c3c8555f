import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * `PENDING`: somebody answers there, and is still to be asked what. `FOUND`: the facts are known. The others say why they are not:
 * turned away for now, no answer in time, hung up, flooded, not the protocol, not allowed, or no login.
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

/** What a scan learnt of one address and port where somebody answered. */
@Entity('scan_result')
@Index('scan_result_place', ['scanId', 'target', 'port'], { unique: true })
@Index('scan_result_pending', ['scanId', 'id'], { where: `outcome = 'PENDING'` })
@Index('scan_result_latest', ['address', 'port', 'protocol', 'id'])
export class ScanResult {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  scanId: string;

  /** As it was asked for: an address, a name, or the id of a host. */
  @Column('text')
  target: string;

  /** The address that was connected to. */
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

  /** The host was asked less than a minute before, by an earlier scan: these are its facts of then. */
  @Column('boolean', { default: false })
  reused: boolean;

  @Column('timestamptz', { nullable: true })
  at: Date | null;
}
