import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What a sensor is asked to do; handed over with its next heartbeat, until it says how it ended. */
@Entity('sensor_command')
@Index('sensor_command_open', ['sensorId', 'id'], { where: 'ended_at IS NULL' })
export class SensorCommand {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  sensorId: string;

  /** The run of a schedule that asks for it. */
  @Column('uuid', { nullable: true })
  runId: string | null;

  /** What it is to scan, besides its configuration. */
  @Column('jsonb', { default: {} })
  settings: Record<string, unknown>;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  /** When it was handed over first. */
  @Column('timestamptz', { nullable: true })
  takenAt: Date | null;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  @Column('boolean', { nullable: true })
  ok: boolean | null;

  @Column('text', { nullable: true })
  detail: string | null;
}
