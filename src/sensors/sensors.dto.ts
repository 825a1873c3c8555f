import { ApiProperty, ApiPropertyOptional, OmitType, PartialType } from '@nestjs/swagger';
import { IsObject, IsOptional } from 'class-validator';
import { Flag, IdRef, Int, Name, Nested, OneOf, Optional, Text } from '../platform/http/fields/fields.js';
import { PageOf } from '../platform/http/fields/page-of.js';
import { IsDateTime, JsonAtMost } from '../platform/http/field-rules.js';
import type { Orders } from './heartbeats.service.js';
import { type Sensor, SENSOR_KINDS, type SensorKind } from './sensor.entity.js';
import type { SensorChange, SensorOrder } from './sensors.service.js';

const CONFIGURATION = {
  type: 'object',
  additionalProperties: true,
  example: { paths: ['/etc/ssl'], endpoints: ['db1.corp.example:5432'] },
} as const;
const EXPIRY = { format: 'date-time', example: '2027-10-31T00:00:00Z' } as const;

export class RegisterSensorBody {
  /** Unique name of the sensor. @example 'data centre east' */
  @Name(1, 80) name: string;
  @OneOf(SENSOR_KINDS, { example: 'host' }) kind: SensorKind;
  /** Scan configuration, sent to the sensor in the response to each heartbeat. */
  @ApiPropertyOptional(CONFIGURATION)
  @IsOptional()
  @IsObject()
  @JsonAtMost(16_384)
  configuration?: Record<string, unknown>;
  /** Heartbeat interval in seconds. A silent sensor is detected within two intervals. @example 60 */
  @Optional(Int(10, 86_400)) heartbeatSeconds?: number;
  /** Expiry of the sensor's key; at most 366 days from now. */
  @ApiProperty(EXPIRY) @IsDateTime() expiry: Date;

  toOrder(): SensorOrder {
    const { name, kind, configuration = {}, heartbeatSeconds = 60 } = this;
    return { name, kind, configuration, heartbeatSeconds };
  }
}

/** Omitted fields remain unchanged. */
export class ChangeSensorBody extends PartialType(OmitType(RegisterSensorBody, ['expiry', 'toOrder'])) {
  toChange(): SensorChange {
    return Object.fromEntries(Object.entries(this).filter(([, value]) => value !== undefined));
  }
}

export class RenewSensorKeyBody {
  /** Expiry of the new key; at most 366 days from now. */
  @ApiProperty(EXPIRY) @IsDateTime() expiry: Date;
  /** Number of hours for which the old key remains valid. @example 24 */
  @Optional(Int(0, 168)) overlapHours?: number;
}

export class EndedScanBody {
  /** The command that requested the scan. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) command?: string;
  /** @example true */
  @Flag() ok: boolean;
  /** @example 1204 */
  @Optional(Int(0, 1_000_000_000)) assets?: number;
  /** Result of the scan, or the reason for its failure. @example '1,204 assets in 3,117 files' */
  @Optional(Text(0, 1000)) detail?: string;
}

export class HeartbeatBody {
  /** Version of the sensor's software. @example 1.4.2 */
  @Optional(Text(0, 100)) version?: string;
  /** Last error that is not related to a scan. @example 'no permission to read /etc/ssl/private' */
  @Optional(Text(0, 1000)) error?: string;
  /** Result of a scan that has ended. */
  @Optional(Nested(EndedScanBody, { example: { ok: true, assets: 1204 } })) scan?: EndedScanBody;
}

export class SensorCommandView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  @ApiProperty({ type: 'object', additionalProperties: true, example: { paths: ['/srv'] } })
  settings: Record<string, unknown>;
}

export class OrdersView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  sensor: string;
  /** @example 60 */
  heartbeatSeconds: number;
  /** Version of the sensor and its configuration, incremented by every change. @example 1 */
  version: number;
  @ApiProperty(CONFIGURATION) configuration: Record<string, unknown>;
  /** Requested scans. Each scan is sent with every response until the sensor reports that the scan has ended. */
  commands: SensorCommandView[];

  static of(orders: Orders): OrdersView {
    return { ...orders, commands: [...orders.commands] };
  }
}

export class SensorView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'data centre east' */
  name: string;
  @ApiProperty({ enum: SENSOR_KINDS, example: 'host' }) kind: SensorKind;
  @ApiProperty(CONFIGURATION) configuration: Record<string, unknown>;
  /** @example 60 */
  heartbeatSeconds: number;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  apiKeyId: string;
  /** @example true */
  enabled: boolean;
  /** @example 1.4.2 */
  softwareVersion: string | null;
  lastHeartbeatAt: Date;
  /** @example 192.0.2.17 */
  lastAddress: string | null;
  lastScanAt: Date | null;
  /** @example 1204 */
  lastScanAssets: number | null;
  /** @example 'no permission to read /etc/ssl/private' */
  lastError: string | null;
  lastErrorAt: Date | null;
  /** Time at which a missing heartbeat was detected; null if the sensor is not silent. */
  silentSince: Date | null;
  /** Version of the sensor. The ETag is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;

  static of(sensor: Sensor): SensorView {
    const { id, name, kind, configuration, heartbeatSeconds, apiKeyId, enabled, version, createdAt } = sensor;
    const { softwareVersion, lastHeartbeatAt, lastAddress, silentSince } = sensor;
    const { lastScanAt, lastScanAssets, lastError, lastErrorAt } = sensor;
    const what = { id, name, kind, configuration, heartbeatSeconds, apiKeyId, enabled };
    const heard = { softwareVersion, lastHeartbeatAt, lastAddress, lastScanAt, lastScanAssets };
    return { ...what, ...heard, lastError, lastErrorAt, silentSince, version, createdAt };
  }
}

export class NewSensorView extends SensorView {
  /** API key of the sensor. The key cannot be retrieved again, so store it now. @example sw_3fG7kQ2mZx9B_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef */
  key: string;

  static withKey(sensor: Sensor, key: string): NewSensorView {
    return Object.assign(SensorView.of(sensor), { key });
  }
}

export class SensorPage extends PageOf(SensorView) {}
