import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, Matches, MaxLength, ValidateBy } from 'class-validator';
import { Flag, IdRef, Int, ListOf, Name, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { ClaimConditionBody } from '../../access/identity/identity.dto.js';
import { OneKeyLine } from '../../platform/http/field-rules.js';
import { EXTENSIONS } from '../certificate-authority/ssh-certificate.dto.js';
import { CERTIFICATE_KINDS, type CertificateKind } from '../certificate-authority/ssh-certificate.js';
import { faultOfPrincipal } from './login-principals.js';
import {
  LOGIN_SUBJECTS,
  type LoginSubject,
  type SshLoginRule,
} from '../certificate-authority/ssh-login-rule.entity.js';
import type { SshLoginRuleOrder } from './ssh-login-rules.service.js';

const MAX_LIFE_SECONDS = 86_400;
const PRINTABLE = /^[\x20-\x7e]+$/;
const isPrincipal = (text: unknown) => typeof text === 'string' && faultOfPrincipal(text) === undefined;

export class SshLoginRuleBody {
  /** @example 'deploy jobs' */
  @Name(1, 100) name: string;
  /** ID of the authority that issues the certificates, either for users or for hosts that are workloads. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @IdRef() authorityId: string;
  /**
   * Kind of caller that the rule matches: workloads by the claims of their token, or users by `email`, `sub` (user ID) and `provider` (name of the identity
   * provider; not present for users who only have a password).
   */
  @OneOf(LOGIN_SUBJECTS) subject: LoginSubject;
  /** Conditions on claims. All conditions must be met. */
  @ListOf(ClaimConditionBody, { min: 1, max: 20 }) conditions: ClaimConditionBody[];
  /** Login names: literal, or with claims in braces (`ci-{project_id}`, `{email:local}`). @example ["deploy"] */
  @ListOf(Text(1, 255), { min: 1, max: 20 })
  @ValidateBy(
    { name: 'principals', validator: { validate: isPrincipal, defaultMessage: () => 'must be valid names' } },
    { each: true },
  )
  principals: string[];
  /** Lifetime of the certificates in seconds. @example 900 */
  @Int(60, MAX_LIFE_SECONDS) lifeSeconds: number;
  /** Addresses from which the certificates are valid. @example 192.0.2.0/24 */
  @IsOptional()
  @Matches(/^[0-9a-fA-F.:/,]{2,1000}$/, { message: 'must be addresses or CIDRs separated by commas' })
  sourceAddress?: string;
  /** Whether the certificates are valid only from the source address of the certificate request. */
  @Optional(Flag()) bindAddress?: boolean = false;
  /** Command to which the certificates are restricted (force-command). @example /usr/bin/deploy */
  @IsOptional() @MaxLength(1000) @Matches(PRINTABLE, { message: 'must be printable ASCII' }) forceCommand?: string;
  /**
   * Permissions that the certificates grant in addition to command execution. Defaults to `permit-pty` (terminal allocation) for users, and to no permissions
   * for workloads.
   */
  @Optional(ListOf(OneOf(EXTENSIONS), { unique: true, example: ['permit-pty'] })) extensions?: string[];
  @Optional(Flag()) enabled?: boolean = true;

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
  @ApiProperty({ enum: EXTENSIONS, isArray: true }) extensions: string[];
  enabled: boolean;
  /** Revision number. The ETag for `If-Match` is this value in double quotes. @example 1 */
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

export class SshLoginRulePage extends PageOf(SshLoginRuleView) {}

export class SshLoginBody {
  /** Your public key. @example 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r' */
  @Text(0, 20_000) @OneKeyLine() publicKey: string;
  /** Name or ID of the rule, if several rules match you. @example 'deploy jobs' */
  @Optional(Text(1, 100)) rule?: string;
  /** Whether the certificate is for a user or for a host. */
  @Optional(OneOf(CERTIFICATE_KINDS, { default: 'user' })) kind?: CertificateKind = 'user';
}
