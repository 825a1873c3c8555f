import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const SENSOR_KINDS = ['host', 'network', 'repository', 'cloud', 'other'] as const;
export type SensorKind = (typeof SENSOR_KINDS)[number];

/** A program elsewhere that looks for cryptographic assets and reports them with an API key of its own. */
@Entity('sensor')
@Index('sensor_awaited', ['lastHeartbeatAt'], { where: 'enabled AND silent_since IS NULL' })
export class Sensor {
  @PrimaryColumn('uuid')
  id: string;

  @Index('sensor_name', { unique: true })
  @Column('text')
  name: string;

  @Column('text')
  kind: SensorKind;

  /** What it is to scan; handed to it with every heartbeat. */
  @Column('jsonb', { default: {} })
  configuration: Record<string, unknown>;

  /** How often it reports that it is there. */
  @Column('int', { default: 60 })
  heartbeatSeconds: number;

  /** The newest of its keys. */
  @Column('uuid')
  apiKeyId: string;

  /** false: its key is revoked. */
  @Column('boolean', { default: true })
  enabled: boolean;

  /** Of its software, in its own words. */
  @Column('text', { nullable: true })
  softwareVersion: string | null;

  /** When it was registered, until it is heard for the first time. */
  @Column('timestamptz', { default: () => 'now()' })
  lastHeartbeatAt: Date;

  /** Address that it last called from. */
  @Column('text', { nullable: true })
  lastAddress: string | null;

  @Column('timestamptz', { nullable: true })
  lastScanAt: Date | null;

  /** Assets that its last scan found. */
  @Column('int', { nullable: true })
  lastScanAssets: number | null;

  @Column('text', { nullable: true })
  lastError: string | null;

  @Column('timestamptz', { nullable: true })
  lastErrorAt: Date | null;

  /** Since when it is known that its heartbeat is missing. */
  @Column('timestamptz', { nullable: true })
  silentSince: Date | null;

  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
