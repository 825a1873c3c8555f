import { ApiProperty, ApiPropertyOptional, PickType } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  IsDefined,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Matches,
  MaxLength,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { Flag, IdRef, Int, Nested, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { Nullable } from '../../platform/http/body-shape.js';
import { PageQuery } from '../../platform/http/page.js';
import {
  HOST_KEY_POLICIES,
  type HostKeyPolicy,
  type Labels,
  MANAGEMENT_MODES,
  type ManagementMode,
  PRIVILEGES,
  type Privilege,
  REACHABILITIES,
  type Reachability,
} from '../model/host.entity.js';
import { IsLabels } from './labels.js';

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;
export const LOGIN_NAME = /^[a-z_][a-z0-9_.-]{0,31}\$?$/i;

export class CredentialBody {
  /** Login name. @example deploy */
  @Text(0, 33) @Matches(LOGIN_NAME, { message: 'must be a login name' }) user: string;
  /** Private key in OpenSSH, PEM (PKCS #1, PKCS #8, SEC 1) or PuTTY (.ppk) format. Never returned. @example "-----BEGIN OPENSSH PRIVATE KEY-----" */
  @Optional(Text(1, 16_384)) privateKey?: string;
  /** Passphrase of the private key. Empty for an unencrypted key. Never returned. @example "correct horse battery staple" */
  @Optional(Text(0, 1024)) passphrase?: string;
  /** Password, instead of a private key. Sent only to a host whose key is pinned. Never returned. @example "a long password" */
  @Optional(Text(1, 1024)) password?: string;
}

/** HostFieldsBody contains all members of a host that users set. All are optional. */
export class HostFieldsBody {
  /** @example 22 */
  @Optional(Int(1, 65_535)) port?: number;
  /** Labels of the host, at most 32. @example {"env": "prod", "tier": "web"} */
  @ApiPropertyOptional({ type: 'object', additionalProperties: { type: 'string' } })
  @IsOptional()
  @IsObject()
  @IsLabels()
  labels?: Labels;
  /** Responsible person or team. @example "Platform team" */
  @Optional(Text(0, 200)) @Nullable() owner?: string | null;
  /** @example production */
  @Optional(Text(0, 64)) @Nullable() environment?: string | null;
  /** ID of the jump host through which connections are made. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) @Nullable() jumpHostId?: string | null;
  /**
   * `pinned`: log in only if the host key is confirmed. `ca`: log in only if a trusted authority certifies the host key. `tofu`: logins with a key also trust
   * the first key that the host presents.
   */
  @Optional(OneOf(HOST_KEY_POLICIES, { default: 'pinned' })) hostKeyPolicy?: HostKeyPolicy;
  /** The service never changes `inventory-only` hosts. */
  @Optional(OneOf(MANAGEMENT_MODES, { default: 'inventory-only' })) managementMode?: ManagementMode;
  /** How commands are run as root: not at all, with `sudo -n`, or because the login is root. */
  @Optional(OneOf(PRIVILEGES, { default: 'none' })) privilege?: Privilege;
  /**
   * Whether logins may use SHA-1 (`ssh-rsa`, `diffie-hellman-group14-sha1` and other algorithms) and CBC-mode ciphers. Enable only for hosts that support
   * nothing else: an attacker who can compute collisions can forge SHA-1 signatures.
   * @example false
   */
  @Optional(Flag()) legacyAlgorithms?: boolean;
  /** Login credential. Set to `null` to remove the stored credential. */
  @Optional(
    Nested(CredentialBody, {
      nullable: true,
      example: { user: 'deploy', privateKey: '-----BEGIN OPENSSH PRIVATE KEY-----' },
    }),
  )
  @Nullable()
  credential?: CredentialBody | null;
}

export class CreateHostBody extends HostFieldsBody {
  /** Unique name. Can contain letters, digits, dots, hyphens and underscores. @example web-1.example.com */
  @Text(0, 128) @Matches(NAME, { message: 'must be 1 to 128 letters, digits, ".", "-" or "_"' }) name: string;
  /** IP address or host name. @example 192.0.2.10 */
  @Text(1, 254) address: string;
}

export class UpdateHostBody extends HostFieldsBody {
  /** @example web-1.example.com */
  @ValidateIf((_, value) => value !== undefined)
  @IsString()
  @Matches(NAME, { message: 'must be 1 to 128 letters, digits, ".", "-" or "_"' })
  @MaxLength(128)
  name?: string;
  /**
   * IP address or host name. If the address or port changes, the credential is removed unless the request contains one, and the pinned keys must be confirmed
   * again.
   * @example 192.0.2.11
   */
  @ValidateIf((_, value) => value !== undefined) @IsString() @Length(1, 254) address?: string;
  /**
   * Required if the destination changes and hosts with credentials are reached through this host. The credentials of those hosts are removed as well.
   * @example false
   */
  @Optional(Flag()) dropCredentialsBehind?: boolean;
}

export class HostQuery extends PageQuery {
  /** Labels that a host must have, each as `key:value` or `key`, separated by commas. @example "env:prod,tier:web" */
  @Optional(Text(0, 1000)) label?: string;
  /** Substring of the name or address. @example web */
  @Optional(Text(0, 128)) q?: string;
  /** @example production */
  @Optional(Text(0, 64)) environment?: string;
  @Optional(OneOf(REACHABILITIES)) reachability?: Reachability;
}

/** HostTermsBody contains the members that can be set on many hosts at once. */
export class HostTermsBody extends PickType(HostFieldsBody, [
  'owner',
  'environment',
  'hostKeyPolicy',
  'managementMode',
  'privilege',
  'legacyAlgorithms',
  'credential',
]) {}

export class ChangeManyHostsBody {
  /** Labels that a host must have, each as `key:value` or `key`, separated by commas. @example "env:prod,tier:web" */
  @Text(1, 1000) label: string;
  /** Members to change. Omitted members stay unchanged. The credential is encrypted separately for each host. */
  @ApiProperty({ type: () => HostTermsBody, example: { managementMode: 'managed', privilege: 'sudo' } })
  @IsDefined()
  @ValidateNested()
  @Type(() => HostTermsBody)
  change: HostTermsBody;
  /** Whether to list the hosts without changing them. @example true */
  @Optional(Flag()) dryRun?: boolean;
}
