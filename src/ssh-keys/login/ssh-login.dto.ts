import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  IsUUID,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import { ClaimConditionBody } from '../../access/identity/identity.dto.js';
import type { Page } from '../../platform/http/cursors.js';
import { OneKeyLine } from '../../platform/http/field-rules.js';
import { EXTENSIONS } from '../certificate-authority/ssh-certificate.dto.js';
import { CERTIFICATE_KINDS, type CertificateKind } from '../certificate-authority/ssh-certificate.js';
import { faultOfPrincipal } from './login-principals.js';
import { LOGIN_SUBJECTS, type LoginSubject, type SshLoginRule } from './ssh-login-rule.entity.js';
import type { SshLoginRuleOrder } from './ssh-login-rules.service.js';

const MAX_LIFE_SECONDS = 86_400;
const PRINTABLE = /^[\x20-\x7e]+$/;
const isPrincipal = (text: unknown) => typeof text === 'string' && faultOfPrincipal(text) === undefined;

export class SshLoginRuleBody {
  /** @example 'deploy jobs' */
  @IsString()
  @Length(1, 100)
  @Matches(/^[^\p{C}]+$/u)
  name: string;

  /** The authority that certifies: for users, or for hosts that are workloads. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @IsUUID()
  authorityId: string;

  /** Workloads, by the claims of their token; or people, by `email` and `sub` (their id). */
  @ApiProperty({ enum: LOGIN_SUBJECTS })
  @IsIn(LOGIN_SUBJECTS)
  subject: LoginSubject;

  /** All must be met. */
  @ApiProperty({ type: [ClaimConditionBody] })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(20)
  @ValidateNested({ each: true })
  @Type(() => ClaimConditionBody)
  conditions: ClaimConditionBody[];

  /** Login names: as they are, or with claims in braces (`ci-{project_id}`, `{email:local}`). @example ["deploy"] */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(20)
  @IsString({ each: true })
  @Length(1, 255, { each: true })
  @ValidateBy(
    { name: 'principals', validator: { validate: isPrincipal, defaultMessage: () => 'must be names' } },
    { each: true },
  )
  principals: string[];

  /** Life of the certificates. @example 900 */
  @IsInt()
  @Min(60)
  @Max(MAX_LIFE_SECONDS)
  lifeSeconds: number;

  /** Addresses that the certificates are good from. @example 192.0.2.0/24 */
  @IsOptional()
  @Matches(/^[0-9a-fA-F.:/,]{2,1000}$/, { message: 'must be addresses or CIDRs, separated by commas' })
  sourceAddress?: string;

  /** true: good from the address that asks alone. */
  @IsOptional()
  @IsBoolean()
  bindAddress?: boolean = false;

  /** The one command that they run. @example /usr/bin/deploy */
  @IsOptional()
  @MaxLength(1000)
  @Matches(PRINTABLE, { message: 'must be printable ASCII' })
  forceCommand?: string;

  /** What the certificates permit besides running commands. Absent: a terminal (`permit-pty`) for people, nothing for workloads. */
  @ApiProperty({ enum: EXTENSIONS, isArray: true, required: false, example: ['permit-pty'] })
  @IsOptional()
  @IsArray()
  @ArrayUnique()
  @IsIn(EXTENSIONS, { each: true })
  extensions?: string[];

  @IsOptional()
  @IsBoolean()
  enabled?: boolean = true;

  toOrder(): SshLoginRuleOrder {
    const { name, authorityId, subject, principals, lifeSeconds } = this;
    const { sourceAddress = null, bindAddress = false, forceCommand = null, enabled = true } = this;
    const { extensions = subject === 'person' ? ['permit-pty'] : [] } = this;
    const conditions = this.conditions.map(({ claim, values }) => ({ claim, values }));
    const limits = { lifeSeconds, sourceAddress, bindAddress, forceCommand, extensions };
    return { name, authorityId, subject, conditions, principals, ...limits, enabled };
  }
}

export class SshLoginRuleView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'deploy jobs' */
  name: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  authorityId: string;
  @ApiProperty({ enum: LOGIN_SUBJECTS })
  subject: LoginSubject;
  conditions: ClaimConditionBody[];
  /** @example ["deploy"] */
  principals: string[];
  /** @example 900 */
  lifeSeconds: number;
  /** @example 192.0.2.0/24 */
  sourceAddress: string | null;
  bindAddress: boolean;
  /** @example /usr/bin/deploy */
  forceCommand: string | null;
  @ApiProperty({ enum: EXTENSIONS, isArray: true })
  extensions: string[];
  enabled: boolean;
  /** Counts the edits; in quotes it is the ETag for If-Match. @example 1 */
  version: number;
  createdAt: Date;
  updatedAt: Date;

  static of(row: SshLoginRule): SshLoginRuleView {
    const { id, name, authorityId, subject, principals, lifeSeconds, sourceAddress, bindAddress, forceCommand } = row;
    const { extensions, enabled, revision: version, createdAt, updatedAt } = row;
    const conditions = row.conditions.map(({ claim, values }) => ({ claim, values: [...values] }));
    const limits = { lifeSeconds, sourceAddress, bindAddress, forceCommand, extensions };
    return {
      id,
      name,
      authorityId,
      subject,
      conditions,
      principals,
      ...limits,
      enabled,
      version,
      createdAt,
      updatedAt,
    };
  }
}

export class SshLoginRulePage {
  items: SshLoginRuleView[];
  /** null on the last page. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of({ items, nextCursor }: Page<SshLoginRule>): SshLoginRulePage {
    return { items: items.map((rule) => SshLoginRuleView.of(rule)), nextCursor };
  }
}

export class SshLoginBody {
  /** Your key. @example 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r' */
  @IsString()
  @MaxLength(20_000)
  @OneKeyLine()
  publicKey: string;

  /** Name or id of the rule, where several are about you. @example 'deploy jobs' */
  @IsOptional()
  @IsString()
  @Length(1, 100)
  rule?: string;

  /** What the certificate is for: to log in, or to be known by as a host. */
  @ApiProperty({ enum: CERTIFICATE_KINDS, required: false, default: 'user' })
  @IsOptional()
  @IsIn(CERTIFICATE_KINDS)
  kind?: CertificateKind = 'user';
}
