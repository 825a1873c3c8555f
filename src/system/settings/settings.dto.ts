import { ApiProperty } from '@nestjs/swagger';
import { IsEmail, MaxLength } from 'class-validator';
import { viewOf } from '../../platform/http/fields/view-of.js';
import type { Config } from '../../platform/config/config.js';
import type { InstanceRow } from '../../platform/instances/instance.repository.js';

export class MailTestBody {
  /** Recipient of the email. @example ada@example.com */
  @IsEmail() @MaxLength(254) recipient: string;
}

export class MailTestView {
  /** Whether the SMTP server accepted the email. @example true */
  sent: boolean;
  /** Response from the SMTP server. @example '250 2.0.0 OK: queued' */
  answer: string;
}

export class SettingsView {
  profile: 'dev' | 'prod';
  role: 'all' | 'api' | 'worker';
  /** @example http://localhost:9090 */
  publicUrl: string;
  /** Allowed CORS origins. Empty in `prod`. */
  @ApiProperty({ type: String, isArray: true, example: ['http://localhost:4200'] }) corsOrigins: string[];
  /** @example 24 */
  jwtExpirationHours: number;
  /** Signing key for requests that do not specify a key. @example default */
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

/** A process of the service, according to its last heartbeat. */
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
  /** Newest migration included in the process's version. @example EditorsOfTrusts1798000048400 */
  schema: string;
  startedAt: Date;
  /** Time of the last heartbeat, which the process writes every two seconds. A process that stopped normally is not listed. */
  seenAt: Date;
  /** Offset of the process's clock from the database clock, in milliseconds; positive if ahead. @example -3 */
  clockOffsetMs: number;

  static of(row: InstanceRow): InstanceView {
    return viewOf(InstanceView, row);
  }
}

export class InstanceList {
  items: InstanceView[];
}
