import { ApiProperty } from '@nestjs/swagger';
import { IsEmail, MaxLength } from 'class-validator';
import { viewOf } from '../../platform/http/fields/view-of.js';
import type { Config } from '../../platform/config/config.js';
import type { InstanceRow } from '../../platform/instances/instance.repository.js';

export class MailTestBody {
  /** Recipient of the mail. @example ada@example.com */
  @IsEmail() @MaxLength(254) recipient: string;
}

export class MailTestView {
  /** Whether the SMTP server took it. @example true */
  sent: boolean;
  /** In the SMTP server's words. @example '250 2.0.0 OK: queued' */
  answer: string;
}

export class SettingsView {
  profile: 'dev' | 'prod';
  role: 'all' | 'api' | 'worker';
  /** @example http://localhost:9090 */
  publicUrl: string;
  /** Origins from which browsers can call; empty in `prod`. */
  @ApiProperty({ type: String, isArray: true, example: ['http://localhost:4200'] }) corsOrigins: string[];
  /** @example 24 */
  jwtExpirationHours: number;
  /** Signing key for requests that name none. @example default */
  defaultKey: string;
  /** @example 24 */
  signingMaxAgeHours: number;
  /** Label of the HSM token. @example sealwright */
  tokenLabel: string;
  /** @example 4 */
  hsmSessions: number;
  /** @example 5000 */
  hsmDeadlineMs: number;

  static of(config: Config): SettingsView {
    return viewOf(SettingsView, config, {
      corsOrigins: config.isProd ? [] : config.corsOrigins,
      tokenLabel: config.pkcs11TokenLabel,
      hsmSessions: config.pkcs11Sessions,
      hsmDeadlineMs: config.pkcs11DeadlineMs,
    });
  }
}

/** A process of the service, as it last described itself. */
export class InstanceView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  role: 'all' | 'api' | 'worker';
  /** @example sealwright-api-6c9f */
  host: string;
  /** @example 4711 */
  pid: number;
  /** Version of the product. @example 0.2.0 */
  version: string;
  /** Newest migration that the process knows. @example EditorsOfTrusts1798000048400 */
  schema: string;
  startedAt: Date;
  /** Time of the last heartbeat, which the process writes every two seconds. A process that stopped normally has no row. */
  seenAt: Date;
  /** How far its clock is ahead of the database's, in milliseconds. @example -3 */
  clockOffsetMs: number;

  static of(row: InstanceRow): InstanceView {
    return viewOf(InstanceView, row);
  }
}

export class InstanceList {
  items: InstanceView[];
}
