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
  /** OpenSSH, PEM (PKCS #1, PKCS #8, SEC 1) or PuTTY (.ppk). Never shown again. @example "-----BEGIN OPENSSH PRIVATE KEY-----" */
  @Optional(Text(1, 16_384)) privateKey?: string;
  /** Opens the private key; empty for one that is not encrypted. Never shown again. @example "correct horse battery staple" */
  @Optional(Text(0, 1024)) passphrase?: string;
  /** Instead of a private key; only ever sent to a host whose key is pinned. Never shown again. @example "a long password" */
  @Optional(Text(1, 1024)) password?: string;
}

/** Everything of a host that people write, each member optional. */
export class HostFieldsBody {
  /** @example 22 */
  @Optional(Int(1, 65_535)) port?: number;
  /** At most 32 keys. @example {"env": "prod", "tier": "web"} */
  @ApiPropertyOptional({ type: 'object', additionalProperties: { type: 'string' } })
  @IsOptional()
  @IsObject()
  @IsLabels()
  labels?: Labels;
  /** Who answers for it. @example "Platform team" */
  @Optional(Text(0, 200)) @Nullable() owner?: string | null;
  /** @example production */
  @Optional(Text(0, 64)) @Nullable() environment?: string | null;
  /** The host that connections go through. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) @Nullable() jumpHostId?: string | null;
  /** `pinned`: log in only when the host key was confirmed. `ca`: only when a trusted authority certifies it. `tofu`: a key login may also go to the first key seen. */
  @Optional(OneOf(HOST_KEY_POLICIES, { default: 'pinned' })) hostKeyPolicy?: HostKeyPolicy;
  /** `inventory-only` hosts are never changed. */
  @Optional(OneOf(MANAGEMENT_MODES, { default: 'inventory-only' })) managementMode?: ManagementMode;
  /** How commands become root: not at all, with `sudo -n`, or the login is root. */
  @Optional(OneOf(PRIVILEGES, { default: 'none' })) privilege?: Privilege;
  /**
   * Logins may use SHA-1 (`ssh-rsa`, `diffie-hellman-group14-sha1` and others) and ciphers in CBC mode. Only for hosts that offer nothing else: SHA-1
   * signatures can be forged by whoever can afford a collision. @example false
   */
  @Optional(Flag()) legacyAlgorithms?: boolean;
  /** null takes the credential away. */
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
  /** Letters, digits, dots, dashes, underscores; each name once. @example web-1.example.com */
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
  /** Another address or port makes the host another machine: its credential is dropped, unless it comes with the change, and its pinned keys wait to be confirmed again. @example 192.0.2.11 */
  @ValidateIf((_, value) => value !== undefined) @IsString() @Length(1, 254) address?: string;
  /** Needed when hosts with a credential are reached through this one and it moves: their credentials are dropped too. @example false */
  @Optional(Flag()) dropCredentialsBehind?: boolean;
}

export class HostQuery extends PageQuery {
  /** `key:value` or `key`, several separated by commas; all must match. @example "env:prod,tier:web" */
  @Optional(Text(0, 1000)) label?: string;
  /** Part of the name or address. @example web */
  @Optional(Text(0, 128)) q?: string;
  /** @example production */
  @Optional(Text(0, 64)) environment?: string;
  @Optional(OneOf(REACHABILITIES)) reachability?: Reachability;
}

/** The members that can be set on many hosts at once. */
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
  /** `key:value` or `key`, several separated by commas; hosts must have all of them. @example "env:prod,tier:web" */
  @Text(1, 1000) label: string;
  /** What is left out stays as it is. The credential is sealed for each host on its own. */
  @ApiProperty({ type: () => HostTermsBody, example: { managementMode: 'managed', privilege: 'sudo' } })
  @IsDefined()
  @ValidateNested()
  @Type(() => HostTermsBody)
  change: HostTermsBody;
  /** Lists the hosts and changes nothing. @example true */
  @Optional(Flag()) dryRun?: boolean;
}
