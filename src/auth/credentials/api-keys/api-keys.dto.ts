import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsOptional, registerDecorator } from 'class-validator';
import { viewOf } from '../../../platform/http/fields/view-of.js';
import { IdRef, Int, ListOf, Moment, Name, OneOf, Optional } from '../../../platform/http/fields/fields.js';
import { Nullable } from '../../../platform/http/body-shape.js';
import { PageOf } from '../../../platform/http/fields/page-of.js';
import { NamedPageQuery } from '../../../platform/http/page.js';
import { KeyPatternList } from '../../../access/key-patterns.js';
import { PERSON_SCOPES, SCOPE_NAMES, type Scope } from '../../../access/scopes.js';
import { isAddressBlock } from '../../../formats/encoding/ip-address.js';
import type { ApiKey } from '../../model/api-key.entity.js';
import { versionOf } from '../../model/credential-change.js';
import type { ApiKeyChange } from './api-key-changes.service.js';
import type { ApiKeyOrder } from './api-keys.service.js';

/** Validates that every item is an IP address or a CIDR block. */
function IsAddressBlocks(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isAddressBlocks',
      target: target.constructor,
      propertyName: String(propertyName),
      options: { message: 'must contain only IP addresses and CIDR blocks such as 192.0.2.0/24' },
      validator: { validate: (value: unknown) => Array.isArray(value) && value.every(isAddressBlock) },
    });
}

export class ApiKeysQuery extends NamedPageQuery {
  /** Only API keys whose owner has this ID. */
  @Optional(IdRef()) owner?: string;
}

export class CreateApiKeyBody {
  /** Purpose of the key. @example 'release pipeline' */
  @Name(1, 100) name: string;
  /** Scopes of the key. You can grant only scopes that you have. */
  @ListOf(OneOf(SCOPE_NAMES), { min: 1, max: 64, unique: true, example: ['sign:digest', 'sign:read'] })
  permissions: Scope[];
  /** Time at which the key expires; at most 366 days from now. */
  @Moment({ example: '2027-01-31T00:00:00Z' }) expiry: Date;
  /** IP addresses and CIDR blocks from which the key can be used. If omitted, the key can be used from any address. */
  @ApiProperty({ example: ['192.0.2.0/24'], required: false })
  @IsOptional()
  @ArrayMinSize(1)
  @ArrayMaxSize(32)
  @IsAddressBlocks()
  addresses?: string[];
  /**
   * Names of the signing keys that the API key can use. `*` matches any characters. If omitted, the API key can use every signing key that you can use,
   * including keys created later.
   */
  @Optional(KeyPatternList({ min: 1, example: ['release-*'] })) keys?: string[];

  toOrder(): ApiKeyOrder {
    const { name, permissions, expiry, addresses, keys } = this;
    return { name, permissions, expiry, addresses, keys };
  }
}

export class ChangeApiKeyBody {
  /** Purpose of the key. @example 'release pipeline' */
  @Optional(Name(1, 100)) name?: string;
  /** The permissions to keep. A change can only remove permissions. */
  @Optional(ListOf(OneOf(SCOPE_NAMES), { min: 1, max: 64, unique: true, example: ['sign:digest'] }))
  permissions?: Scope[];
  /** IP addresses and CIDR blocks from which the key can be used; null allows every address. */
  @ApiProperty({ example: ['192.0.2.0/24'], required: false, nullable: true, type: [String] })
  @IsOptional()
  @Nullable()
  @ArrayMinSize(1)
  @ArrayMaxSize(32)
  @IsAddressBlocks()
  addresses?: string[] | null;
  /** Names of the signing keys that the API key can use. `*` matches any characters; null allows every signing key. */
  @Optional(KeyPatternList({ min: 1, nullable: true, example: ['release-*'] })) @Nullable() keys?: string[] | null;

  toChange(): ApiKeyChange {
    const { name, permissions, addresses, keys } = this;
    return { name, permissions, addresses, keys };
  }
}

export class RotateApiKeyBody {
  /** Time at which the new key expires; at most 366 days from now. */
  @Moment({ example: '2027-01-31T00:00:00Z' }) expiry: Date;
  /** Hours for which the old key remains valid. @example 24 */
  @Optional(Int(0, 168)) overlapHours?: number;
}

export class ApiKeyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'release pipeline' */
  name: string;
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true }) permissions: Scope[];
  expiry: Date;
  createdAt: Date;
  revokedAt: Date | null;
  /** Time of the last use. For a sensor's key, only the first use in each hour is recorded. */
  lastUsedAt: Date | null;
  /** IP address from which the key was last used. @example 192.0.2.17 */
  lastUsedFrom: string | null;
  /** IP addresses and CIDR blocks from which the key can be used; null allows every address. */
  @ApiProperty({ type: [String], nullable: true, example: ['192.0.2.0/24'] }) addresses: string[] | null;
  /** Names of the signing keys that the API key can use, in which `*` matches any characters; null allows every signing key. */
  @ApiProperty({ type: [String], nullable: true, example: ['release-*'] }) keys: string[] | null;
  /** Permissions that have no effect, because only people can use them. Only keys created by an earlier version can have such permissions. */
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true, example: [] }) withoutEffect: Scope[];
  /** ID of the key that replaced this key. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  replacedBy: string | null;
  /** Incremented on every change. The ETag for `If-Match` is this value in double quotes. @example 1 */
  version: number;

  static of(row: ApiKey): ApiKeyView {
    const { signingKeys: keys, permissions } = row;
    const withoutEffect = permissions.filter((scope) => PERSON_SCOPES.includes(scope));
    return viewOf(ApiKeyView, row, { keys, withoutEffect, version: versionOf(row) });
  }
}

export class NewApiKeyView extends ApiKeyView {
  /** The API key, which cannot be retrieved again. @example sw_3fG7kQ2mZx9B_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef */
  key: string;

  static withKey(row: ApiKey, key: string): NewApiKeyView {
    return Object.assign(ApiKeyView.of(row), { key });
  }
}

export class ApiKeyPage extends PageOf(ApiKeyView) {}
