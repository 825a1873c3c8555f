import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A key that a sensor reports with: its present one, and those that were replaced and may still be in use. */
@Entity('sensor_api_key')
export class SensorApiKey {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'sensor_api_key_id' })
  apiKeyId: string;

  @Index('sensor_api_key_sensor')
  @Column('uuid')
  sensorId: string;
}
