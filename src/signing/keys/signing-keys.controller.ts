import { Body, Controller, Get, Headers, Param, Post, Query } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../auth/access.js';
import type { Caller } from '../../auth/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import { SigningKeyReader } from './signing-key.reader.js';
import { CreateSigningKeyBody, SigningKeyPage, SigningKeyView } from './signing-keys.dto.js';
import { SigningKeysService } from './signing-keys.service.js';

@ApiTags('Signing keys')
@Controller('api/v1/signing-keys')
export class SigningKeysController {
  constructor(
    private readonly keys: SigningKeysService,
    private readonly reader: SigningKeyReader,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /** Generates a key pair in the HSM. The private key cannot leave it. */
  @Post()
  @Needs('signing-keys:write')
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'Makes the call safe to repeat for 24 hours' })
  async createSigningKey(
    @TheCaller() caller: Caller,
    @Body() body: CreateSigningKeyBody,
    @Headers('idempotency-key') key?: string,
  ): Promise<SigningKeyView> {
    const use = this.idempotency.use(key, caller.id, 'createSigningKey', body, newId());
    return SigningKeyView.of(await this.keys.create(caller, { name: body.name, type: body.type }, use));
  }

  /** Lists signing keys, newest first. */
  @Get()
  @Needs('signing-keys:read')
  async listSigningKeys(@Query() query: PageQuery): Promise<SigningKeyPage> {
    return SigningKeyPage.of(await this.reader.list(query));
  }

  /** Shows a signing key with its public key and what the token said of it. */
  @Get(':id')
  @Needs('signing-keys:read')
  async getSigningKey(@Param() { id }: IdParam): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.reader.get(id));
  }
}
