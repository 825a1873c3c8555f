import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const SENSOR_KINDS = ['host', 'network', 'repository', 'cloud', 'other'] as const;
export type SensorKind = (typeof SENSOR_KINDS)[number];

/** A program on another machine that finds cryptographic assets and reports the assets with a separate API key. */
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

  /** Scan configuration, sent in the response to every heartbeat. */
  @Column('jsonb', { default: {} })
  configuration: Record<string, unknown>;

  @Column('int', { default: 60 })
  heartbeatSeconds: number;

  /** ID of the newest API key of the sensor. */
  @Column('uuid')
  apiKeyId: string;

  /** False if the sensor is disabled and its key is revoked. */
  @Column('boolean', { default: true })
  enabled: boolean;

  /** Software version, as reported by the sensor. */
  @Column('text', { nullable: true })
  softwareVersion: string | null;

  /** Time of the last heartbeat; before the first heartbeat, the time of registration. */
  @Column('timestamptz', { default: () => 'now()' })
  lastHeartbeatAt: Date;

  /** Address of the sensor's last request. */
  @Column('text', { nullable: true })
  lastAddress: string | null;

  @Column('timestamptz', { nullable: true })
  lastScanAt: Date | null;

  /** Number of assets that the last scan found. */
  @Column('int', { nullable: true })
  lastScanAssets: number | null;

  @Column('text', { nullable: true })
  lastError: string | null;

  @Column('timestamptz', { nullable: true })
  lastErrorAt: Date | null;

  /** Time at which a missing heartbeat was detected. */
  @Column('timestamptz', { nullable: true })
  silentSince: Date | null;

  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** An API key of a sensor: the current key, or a replaced key that may still be in use. */
@Entity('sensor_api_key')
export class SensorApiKey {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'sensor_api_key_id' })
  apiKeyId: string;

  @Index('sensor_api_key_sensor')
  @Column('uuid')
  sensorId: string;
}

/** A command for a sensor; sent in the response to each heartbeat until the sensor reports the result. */
@Entity('sensor_command')
@Index('sensor_command_sensor', ['sensorId'])
@Index('sensor_command_open', ['sensorId', 'id'], { where: 'ended_at IS NULL' })
@Index('sensor_command_ended', ['endedAt'], { where: 'ended_at IS NOT NULL' })
export class SensorCommand {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  sensorId: string;

  /** Schedule run that requested the scan. */
  @Column('uuid', { nullable: true })
  runId: string | null;

  /** Scan settings that supplement the sensor's configuration. */
  @Column('jsonb', { default: {} })
  settings: Record<string, unknown>;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  /** Time at which the command was first sent. */
  @Column('timestamptz', { nullable: true })
  takenAt: Date | null;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  @Column('boolean', { nullable: true })
  ok: boolean | null;

  @Column('text', { nullable: true })
  detail: string | null;
}
