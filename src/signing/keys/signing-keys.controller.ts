import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Query,
  UseInterceptors,
  Delete,
  UseGuards,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller, Fresh } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdOrNameParam } from '../../platform/http/id-param.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { SigningKeyReader } from './signing-key.reader.js';
import {
  ChangeSigningKeyBody,
  CreateSigningKeyBody,
  KeyVersionList,
  KeyVersionView,
  RotateSigningKeyBody,
  SigningKeyPage,
  SigningKeysQuery,
  SigningKeyView,
  DestroySigningKeyBody,
} from './signing-keys.dto.js';
import { SigningKeyLifeService } from './signing-key-life.service.js';
import { SigningKeyTermsService } from './signing-key-terms.service.js';
import { SigningKeysService } from './signing-keys.service.js';
import { SigningKeyDestructionService } from './signing-key-destruction.service.js';
import { SigningKeyNameGuard } from './signing-key-name.guard.js';
import { SigningKeyName } from './signing-key-name.pipe.js';

@ApiTags('Signing keys')
@Controller('api/v1/signing-keys')
@UseGuards(SigningKeyNameGuard)
export class SigningKeysController {
  constructor(
    private readonly keys: SigningKeysService,
    private readonly life: SigningKeyLifeService,
    private readonly terms: SigningKeyTermsService,
    private readonly reader: SigningKeyReader,
  ) {}

  /**
   * Create a signing key
   * @remarks Generates a key pair in the HSM. The private key cannot leave the HSM.
   */
  @Post()
  @Needs('signing-keys:write')
  @Fresh()
  async createSigningKey(
    @TheCaller() caller: Caller,
    @Body() body: CreateSigningKeyBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.keys.create(caller, body, use));
  }

  /**
   * List signing keys
   * @remarks Returns the signing keys that you can use, newest first.
   */
  @Get()
  @Needs('signing-keys:read')
  async listSigningKeys(@TheCaller() caller: Caller, @Query() query: SigningKeysQuery): Promise<SigningKeyPage> {
    return SigningKeyPage.of(await this.reader.list(caller, query));
  }

  /**
   * Get a signing key
   * @remarks Returns a signing key with its public key and the attributes that the token reported.
   */
  @Get(':id')
  @Needs('signing-keys:read')
  @UseInterceptors(VersionInterceptor)
  async getSigningKey(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
  ): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.reader.get(caller, id), await this.reader.usage(id));
  }

  /**
   * Update a signing key
   * @remarks Changes the validity dates and constraints of a signing key. Requires `If-Match` with the key's ETag.
   */
  @Patch(':id')
  @Needs('signing-keys:write')
  @Fresh()
  @UseInterceptors(VersionInterceptor)
  async changeSigningKey(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
    @Body() body: ChangeSigningKeyBody,
    @ExpectedVersion() version: number,
  ): Promise<SigningKeyView> {
    const key = await this.terms.change(caller, id, version, body);
    return SigningKeyView.of(key, await this.reader.usage(id));
  }

  /**
   * List signing key versions
   * @remarks Returns the versions of a signing key, newest first.
   */
  @Get(':id/versions')
  @Needs('signing-keys:read')
  async listSigningKeyVersions(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
  ): Promise<KeyVersionList> {
    return { items: (await this.reader.versions(caller, id)).map((version) => KeyVersionView.of(version)) };
  }

  /**
   * Rotate a signing key
   * @remarks Generates a new version. Earlier versions keep their public keys and certificates, so signatures made with earlier versions can still be verified.
   */
  @Post(':id/rotate')
  @Needs('signing-keys:write')
  @Fresh()
  async rotateSigningKey(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
    @Body() { activate }: RotateSigningKeyBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.life.rotate(caller, id, { activate, use }));
  }

  /**
   * Disable a signing key
   * @remarks Disables a signing key immediately. Pending signing requests fail.
   */
  @Post(':id/disable')
  @HttpCode(200)
  @Needs('signing-keys:write')
  @Fresh()
  async disableSigningKey(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
  ): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.life.disable(caller, id));
  }

  /**
   * Enable a signing key
   * @remarks Allows a disabled signing key to sign again.
   */
  @Post(':id/enable')
  @HttpCode(200)
  @Needs('signing-keys:write')
  @Fresh()
  async enableSigningKey(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
  ): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.life.enable(caller, id));
  }
}

@ApiTags('Signing keys')
@Controller('api/v1/signing-keys/:id/destruction')
@UseGuards(SigningKeyNameGuard)
export class SigningKeyDestructionController {
  constructor(private readonly destructions: SigningKeyDestructionService) {}

  /**
   * Schedule key destruction
   * @remarks Disables a signing key immediately, and destroys its private keys after a waiting period.
   */
  @Post()
  @HttpCode(200)
  @Needs('admin:*')
  @Fresh()
  async scheduleDestruction(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
    @Body() { days = 30 }: DestroySigningKeyBody,
  ): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.destructions.schedule(caller, id, days));
  }

  /**
   * Cancel key destruction
   * @remarks Cancels a scheduled destruction before the waiting period ends. The key remains disabled.
   */
  @Delete()
  @Needs('signing-keys:write')
  @Fresh()
  async callOffDestruction(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
  ): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.destructions.callOff(caller, id));
  }
}
