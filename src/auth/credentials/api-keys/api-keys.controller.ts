import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../../platform/http/id-param.js';
import type { IdempotentUse } from '../../../platform/http/idempotency-keys.js';
import { Fresh, Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { Repeatable } from '../../../access/repeatable.js';
import { ExpectedVersion, VersionInterceptor } from '../../../platform/http/versions.js';
import { ApiKeyChangesService } from './api-key-changes.service.js';
import {
  ApiKeyPage,
  ApiKeysQuery,
  ApiKeyView,
  ChangeApiKeyBody,
  CreateApiKeyBody,
  NewApiKeyView,
  RotateApiKeyBody,
} from './api-keys.dto.js';
import { ApiKeyRenewalService } from './api-key-renewal.service.js';
import { ApiKeysService } from './api-keys.service.js';

@ApiTags('Settings')
@UseInterceptors(VersionInterceptor)
@Controller('api/settings/api-keys')
export class ApiKeysController {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly renewal: ApiKeyRenewalService,
    private readonly changes: ApiKeyChangesService,
  ) {}

  /**
   * Create an API key
   * @remarks Creates an API key and returns the key, which cannot be retrieved again.
   */
  @Post()
  @Needs('settings:write')
  @Fresh()
  async createApiKey(
    @TheCaller() caller: Caller,
    @Body() body: CreateApiKeyBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<NewApiKeyView> {
    const made = await this.apiKeys.create(caller, body.toOrder(), use);
    return NewApiKeyView.withKey(made.row, made.key);
  }

  /**
   * List API keys
   * @remarks Returns API keys without their secrets, newest first.
   */
  @Get()
  @Needs('settings:read')
  async listApiKeys(@Query() query: ApiKeysQuery): Promise<ApiKeyPage> {
    return ApiKeyPage.of(await this.apiKeys.list(query));
  }

  /**
   * Get an API key
   * @remarks Returns an API key without its secret, with its ETag.
   */
  @Get(':id')
  @Needs('settings:read')
  async getApiKey(@Param() { id }: IdParam): Promise<ApiKeyView> {
    return ApiKeyView.of(await this.apiKeys.get(id));
  }

  /**
   * Update an API key
   * @remarks Changes the name, the addresses or the signing keys of an API key, or removes permissions. Every process applies the change within five seconds.
   */
  @Patch(':id')
  @Needs('settings:write')
  @Fresh()
  async changeApiKey(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeApiKeyBody,
    @ExpectedVersion() version: number,
  ): Promise<ApiKeyView> {
    return ApiKeyView.of(await this.changes.change(caller, id, version, body.toChange()));
  }

  /**
   * Rotate an API key
   * @remarks Creates and returns a key with the same permissions, addresses and signing keys. The old key remains valid for the specified time.
   */
  @Post(':id/rotate')
  @Needs('settings:write')
  @Fresh()
  async rotateApiKey(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { expiry, overlapHours = 24 }: RotateApiKeyBody,
  ): Promise<NewApiKeyView> {
    const { row, key } = await this.renewal.rotate(caller, id, { expiry, overlapHours });
    return NewApiKeyView.withKey(row, key);
  }

  /**
   * Revoke an API key
   * @remarks Revokes an API key. Every process rejects the key within five seconds.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('settings:write')
  async revokeApiKey(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.apiKeys.revoke(caller, id);
  }
}
